// The stream learner in the core: a bad row changes nothing, saved and loaded it goes on alike, dense is sparse.
#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"
#include "stream/archive.hpp"
#include "stream/learner.hpp"

using namespace steelyard;

struct Data {
    Index n = 3000, d = 7;
    std::vector<double> values;
    std::vector<std::int8_t> y;
    std::vector<std::int32_t> columns, starts;

    Data() : values(static_cast<std::size_t>(n * d)), y(static_cast<std::size_t>(n)) {
        std::mt19937_64 random(1);
        std::normal_distribution<double> normal;
        for (double& x : values) x = normal(random);
        for (Index i = 0; i < n; ++i)
            y[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(i * d)] > 0.8 ? 1 : -1;
        for (Index k = 0; k < n * d; ++k) columns.push_back(static_cast<std::int32_t>(k % d));
        for (Index i = 0; i <= n; ++i) starts.push_back(static_cast<std::int32_t>(i * d));
    }
    DenseRows<double> dense(Index from, Index to) const { return {values.data() + from * d, to - from, d}; }
    SparseRows<double, std::int32_t> sparse() const { return {values.data(), columns.data(), starts.data(), n, d}; }
    Labels labels(Index from = 0) const { return {y.data() + from, nullptr}; }
};

// The geometric mean, as a tape.
static Learner make(bool constrained = false, double radius = 0.0) {
    LearnerSettings settings;
    settings.radius = radius;
    settings.capacity = 300;
    settings.seed = 5;
    settings.duals.constrained = constrained;
    if (constrained) settings.held_out[0] = 0.2;
    Duals duals;
    duals.measure =
        Tape({{Op::input, 0, 0, 0.0}, {Op::input, 1, 0, 0.0}, {Op::multiply, 0, 1, 0.0}, {Op::power, 2, 0, 0.5}});
    // tnr - 0.9 >= 0
    duals.constraint = Tape({{Op::input, 1, 0, 0.0}, {Op::constant, 0, 0, 0.9}, {Op::subtract, 0, 1, 0.0}});
    return Learner(settings, 7, duals);
}

static void test_bad_row(Data data) {
    std::vector<std::uint8_t> held;
    Learner learner = make();
    learner.learn(data.dense(0, 1000), data.labels(), Pass{}, held);
    const std::string before = save(learner);
    data.values[static_cast<std::size_t>(1500 * data.d + 2)] = std::numeric_limits<double>::quiet_NaN();
    expect(learner.learn(data.dense(1000, 2000), data.labels(1000), Pass{}, held) == 500, "the bad row is found");
    expect(save(learner) == before, "a bad row changes nothing");
    expect(learner.learn(data.dense(1500, 1501), data.labels(1500), Pass{}, held) == 0,
           "the bad row is found in a small chunk");
    expect(save(learner) == before, "a bad row of a small chunk changes nothing");
}

static void test_archive(const Data& data) {
    for (const bool constrained : {false, true}) {
        std::vector<std::uint8_t> held;
        Learner learner = make(constrained), twin = make(constrained);
        learner.learn(data.dense(0, 1234), data.labels(), Pass{}, held);
        const std::string bytes = save(learner);
        load(twin, bytes.data(), bytes.size());
        learner.learn(data.dense(1234, 3000), data.labels(1234), Pass{}, held);
        twin.learn(data.dense(1234, 3000), data.labels(1234), Pass{}, held);
        expect(save(twin) == save(learner), "a loaded learner goes on alike");
        bool refused = false;
        try {
            load(twin, bytes.data(), bytes.size() - 3);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        expect(refused, "a state that ends early is refused");
    }
}

static void test_dense_is_sparse(const Data& data) {
    std::vector<std::uint8_t> held;
    Learner dense = make(), sparse = make();
    Pass pass;
    pass.shuffle = true;
    dense.learn(data.dense(0, data.n), data.labels(), pass, held);
    sparse.learn(data.sparse(), data.labels(), pass, held);
    const auto a = dense.now.coefficients(true), b = sparse.now.coefficients(true);
    for (std::size_t j = 0; j < a.size(); ++j) expect(std::fabs(a[j] - b[j]) < 1e-9, "dense and sparse learn alike");
    const auto s = dense.reservoir.kept.scores(1, a), t = sparse.reservoir.kept.scores(1, a);
    expect(!s.empty() && s.size() == t.size(), "reservoirs hold as much");
    for (std::size_t k = 0; k < s.size(); ++k) expect(std::fabs(s[k] - t[k]) < 1e-9, "reservoirs hold the same rows");
}

// The loop for the default settings against the one for all: a ball that no model leaves asks for the latter.
static void test_plain_is_any(const Data& data) {
    std::vector<double> weight(static_cast<std::size_t>(data.n), 1.0);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 0.3 * static_cast<double>(i % 5);
    for (const double* weights : {static_cast<const double*>(nullptr), static_cast<const double*>(weight.data())})
        for (const bool shuffle : {false, true}) {
            std::vector<std::uint8_t> held;
            Learner plain = make(), any = make(false, 1e100);
            Pass pass;
            pass.shuffle = shuffle;
            const Labels labels{data.y.data(), weights};
            for (Learner* learner : {&plain, &any}) learner->learn(data.sparse(), labels, pass, held);
            expect(plain.now.coefficients(true) == any.now.coefficients(true), "both loops learn the same weights");
            expect(plain.now.intercept(true) == any.now.intercept(true), "both loops learn the same offset");
            expect(plain.now.history.marks == any.now.history.marks, "both loops have the same history");
            expect(plain.now.duals.rate(1) == any.now.duals.rate(1), "both loops count alike");
        }
}

// Most of these chunks are smaller than the blocks in which labels are counted, so each row is offered on its own.
static void test_chunks_offer_alike(const Data& data) {
    std::vector<std::uint8_t> held;
    Learner whole = make(), cut = make();
    whole.learn(data.dense(0, data.n), data.labels(), Pass{}, held);
    for (Index from = 0, to; from < data.n; from = to) {
        to = std::min(data.n, from + 1 + from % 11);
        cut.learn(data.dense(from, to), data.labels(from), Pass{}, held);
    }
    const auto w = whole.now.coefficients(true);
    expect(cut.now.coefficients(true) == w, "chunks do not change the weights");
    for (int side = 0; side < 2; ++side) {
        expect(whole.reservoir.kept.scores(side, w) == cut.reservoir.kept.scores(side, w),
               "nor what the reservoir holds");
        expect(whole.reservoir.counters.accepted[side] == cut.reservoir.counters.accepted[side], "nor what it counts");
    }
}

int main() {
    const Data data;
    test_bad_row(data);
    test_archive(data);
    test_dense_is_sparse(data);
    test_plain_is_any(data);
    test_chunks_offer_alike(data);
    return verdict();
}
