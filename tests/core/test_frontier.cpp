// The scan of operating points, built plain and under the sanitizers.

#include "measure/frontier.hpp"

#include "check.hpp"

using namespace steelyard;

static void test_ties_signs_and_zeros() {
    const double scores[] = {0.0, -0.0, 3.0, -2.0, 3.0};
    const bool positive[] = {true, false, true, false, false};
    const Frontier f = scan_frontier({scores, positive, nullptr, 5});
    expect(f.thresholds.size() == 4, "equal scores are one point, and so are the two zeros");
    expect(f.thresholds[0] < -2.0 && f.thresholds[1] == -1.0 && f.thresholds[2] == 1.5 && f.thresholds[3] == 3.0,
           "thresholds");
    expect(f.tpr[0] == 1.0 && f.tpr[1] == 1.0 && f.tpr[2] == 0.5 && f.tpr[3] == 0.0, "tpr");
    expect(f.tnr[0] == 0.0 && f.tnr[3] == 1.0, "tnr at the ends");
}

static void test_weights() {
    const double scores[] = {1.0, 2.0, 3.0}, weight[] = {1.0, 0.0, 3.0};
    const bool positive[] = {false, true, true};
    const Frontier f = scan_frontier({scores, positive, weight, 3});
    expect(f.tpr[2] == 1.0 && f.tpr[3] == 0.0, "a row without weight does not count");
}

static void test_order_of_many() {
    std::vector<double> scores(5000);
    std::vector<char> label(5000);
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        scores[i] = (static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5) * (i % 3 ? 1e-300 : 1e300);
        label[i] = static_cast<char>(i % 2);
    }
    const Frontier f =
        scan_frontier({scores.data(), reinterpret_cast<const bool*>(label.data()), nullptr, scores.size()});
    bool rising = true;
    for (std::size_t k = 1; k < f.thresholds.size(); ++k)
        rising =
            rising && f.thresholds[k] >= f.thresholds[k - 1] && f.tnr[k] >= f.tnr[k - 1] && f.tpr[k] <= f.tpr[k - 1];
    expect(rising, "thresholds and rates are monotone");
    expect(f.thresholds.size() == scores.size() + 1, "one point more than distinct scores");
}

int main() {
    test_ties_signs_and_zeros();
    test_weights();
    test_order_of_many();
    expect(scan_frontier({nullptr, nullptr, nullptr, 0}).tpr.empty(), "no rows, no points");
    return verdict();
}
