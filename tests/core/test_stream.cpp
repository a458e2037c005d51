// The stream learner in the core: whatever fails changes nothing, saved and loaded it goes on alike, dense is sparse.
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "check.hpp"
#include "scarce.hpp"
#include "stream/archive.hpp"
#include "stream/learner.hpp"

using namespace steelyard;

struct Data {
    Index n, d = 7;
    std::vector<double> values;
    std::vector<std::int8_t> y;
    std::vector<std::int32_t> columns, starts;

    explicit Data(Index rows = 3000)
        : n(rows), values(static_cast<std::size_t>(n * d)), y(static_cast<std::size_t>(n)) {
        std::mt19937_64 random(1);
        std::normal_distribution<double> normal;
        for (double& x : values) x = normal(random);
        for (Index i = 0; i < n; ++i)
            y[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(i * d)] > 0.8 ? 1 : -1;
        for (Index k = 0; k < n * d; ++k) columns.push_back(static_cast<std::int32_t>(k % d));
        for (Index i = 0; i <= n; ++i) starts.push_back(static_cast<std::int32_t>(i * d));
    }
    DenseRows<double> dense(Index from, Index to) const { return {values.data() + from * d, to - from, d}; }
    SparseRows<double> sparse() const { return {values.data(), columns.data(), starts.data(), n, d}; }
    Labels labels(Index from = 0) const { return {y.data() + from, nullptr}; }
};

// The geometric mean, as a tape.
static Learner make(bool constrained = false, double radius = 0.0, Index n_cols = 7) {
    LearnerSettings settings;
    settings.radius = radius;
    settings.capacity[0] = settings.capacity[1] = 300;
    settings.seed = 5;
    settings.duals.constrained = constrained;
    Duals duals;
    duals.measure =
        Tape({{Op::input, 0, 0, 0.0}, {Op::input, 1, 0, 0.0}, {Op::multiply, 0, 1, 0.0}, {Op::power, 2, 0, 0.5}});
    // tnr - 0.9 >= 0
    duals.constraint = Tape({{Op::input, 1, 0, 0.0}, {Op::constant, 0, 0, 0.9}, {Op::subtract, 0, 1, 0.0}});
    return Learner(settings, n_cols, duals);
}

static void test_bad_row(Data data) {
    Learner learner = make();
    learner.learn(data.dense(0, 1000), data.labels(), Pass{});
    const std::string before = save(learner);
    data.values[static_cast<std::size_t>(1500 * data.d + 2)] = std::numeric_limits<double>::quiet_NaN();
    expect(learner.learn(data.dense(1000, 2000), data.labels(1000), Pass{}).row == 500, "the bad row is found");
    expect(save(learner) == before, "a bad row changes nothing");
    expect(learner.learn(data.dense(1500, 1501), data.labels(1500), Pass{}).row == 0,
           "the bad row is found in a small chunk");
    expect(save(learner) == before, "a bad row of a small chunk changes nothing");
}

// At every single request for memory, in chunks of any size, from any state: all or nothing.
static void test_no_memory(const Data& data) {
    for (const bool constrained : {false, true})
        for (const Index size : {Index{1}, Index{3}, Index{500}}) {
            Learner learner = make(constrained);
            learner.learn(data.dense(0, 700), data.labels(), Pass{});
            Learner twin = learner;
            const std::string before = save(learner);
            long failures_seen = 0;
            for (bool done = false; !done; ++failures_seen) {
                requests_left = failures_seen;
                try {
                    learner.learn(data.dense(700, 700 + size), data.labels(700), Pass{});
                    done = true;
                } catch (const std::bad_alloc&) {
                    done = false;
                }
                requests_left = -1;
                if (!done) expect(save(learner) == before, "no memory, nothing learned");
            }
            twin.learn(data.dense(700, 700 + size), data.labels(700), Pass{});
            expect(learner.now.coefficients(true) == twin.now.coefficients(true), "and afterwards it goes on as if");
            if (size == 500) expect(failures_seen > 3, "memory was asked for");
        }
}

struct AskedFor : Stop {
    bool look() const override { return true; }
};

static void test_stop(const Data& data) {
    Learner learner = make(true);
    learner.learn(data.dense(0, 1000), data.labels(), Pass{});
    const std::string before = save(learner);
    const Data many(200000);
    const AskedFor stop;
    std::this_thread::sleep_for(2 * Stop::between_looks);
    bool stopped = false;
    try {
        learner.learn(many.dense(0, many.n), many.labels(), Pass{}, &stop);
    } catch (const Stopped&) {
        stopped = true;
    }
    expect(stopped, "a pass hears the stop");
    expect(save(learner) == before, "a stopped pass changes nothing");
}

// Columns out of order or named twice are learned like the tidy matrix that they stand for.
static void test_untidy_rows(const Data& data) {
    const Index n = 500, d = data.d;
    std::vector<double> values;
    std::vector<std::int64_t> columns, starts = {0};
    std::vector<double> tidy(static_cast<std::size_t>(n * d));
    for (Index i = 0; i < n; ++i) {
        for (Index j = d; j-- > 0;) {
            const double x = data.values[static_cast<std::size_t>(i * d + j)];
            tidy[static_cast<std::size_t>(i * d + j)] = x;
            columns.push_back(j), values.push_back(i % 3 == 0 ? 0.75 * x : x);
        }
        if (i % 3 == 0)
            for (Index j = 0; j < d; ++j) {
                columns.push_back(j);
                values.push_back(data.values[static_cast<std::size_t>(i * d + j)] * 0.25);
            }
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    const SparseRows<double> rows(values.data(), columns.data(), starts.data(), n, d);
    Learner merged = make(), plain = make(), small = make();
    for (const std::uint64_t number : {0, 1}) {
        Pass pass;
        pass.number = number;
        merged.learn(rows, data.labels(), pass);
        plain.learn(DenseRows<double>(tidy.data(), n, d), data.labels(), pass);
    }
    const auto a = merged.now.coefficients(true), b = plain.now.coefficients(true);
    for (std::size_t j = 0; j < a.size(); ++j) expect(std::fabs(a[j] - b[j]) < 1e-9, "untidy rows are merged");
    columns[3] = d;
    expect(small.learn(rows, data.labels(), Pass{}).what == std::string("outside"), "a column outside is found");
    columns[3] = -1;
    expect(small.learn(rows, data.labels(), Pass{}).row == 0, "and a negative one");
}

static bool loads(Learner& learner, const std::string& bytes) {
    try {
        load(learner, bytes.data(), bytes.size());
        return true;
    } catch (const std::invalid_argument&) {
        return false;
    }
}

// Whatever is in the bytes, a learner that takes them reads and writes nothing outside (the sanitizers watch).
static void test_forged_archives(const Data& data) {
    Learner learner = make(true);
    learner.learn(data.sparse(), data.labels(), Pass{});
    const std::string good = save(learner);
    std::mt19937_64 random(7);
    const std::int64_t wild[] = {-1, 0, 1, 7, 1 << 20, std::int64_t{1} << 40, std::numeric_limits<std::int64_t>::max()};
    int taken = 0;
    for (std::size_t at = 0; at + 8 <= good.size();
         at += at < 1500 || at + 3000 > good.size() ? 4 : 1 + random() % 997) {
        std::string bad = good;
        std::memcpy(bad.data() + at, &wild[random() % 7], 8);
        Learner other = make(true);
        if (!loads(other, bad)) continue;
        ++taken;
        const std::vector<double> w(static_cast<std::size_t>(data.d), 1.0);
        for (int side = 0; side < 2; ++side)
            other.reservoir.kept.scores(side, w.data()), other.reservoir.kept.dense(side, data.d);
        other.learn(data.dense(0, 400), data.labels(), Pass{});
    }
    expect(taken > 10, "some forgeries are only other numbers");
    Learner other = make(true);
    other.reservoir.kept.places[0].resize(1), other.reservoir.kept.weight[0].resize(1);
    other.reservoir.kept.places[0][0] = {std::int64_t{1} << 40, 7, 0};
    other.reservoir.counters.accepted[0] = other.reservoir.counters.offered[0] = 1;
    other.reservoir.counters.next[0] = 2;
    Learner fresh = make(true);
    expect(!loads(fresh, save(other)), "a row that lies outside its memory is refused");
    expect(!loads(fresh, good.substr(0, good.size() - 8)) && !loads(fresh, good + "x"), "and so are other lengths");
}

static void test_archive(const Data& data) {
    for (const bool constrained : {false, true}) {
        Learner learner = make(constrained), twin = make(constrained);
        learner.learn(data.dense(0, 1234), data.labels(), Pass{});
        const std::string bytes = save(learner);
        load(twin, bytes.data(), bytes.size());
        learner.learn(data.dense(1234, 3000), data.labels(1234), Pass{});
        twin.learn(data.dense(1234, 3000), data.labels(1234), Pass{});
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
    Learner dense = make(), sparse = make();
    Pass pass;
    pass.shuffle = true;
    dense.learn(data.dense(0, data.n), data.labels(), pass);
    sparse.learn(data.sparse(), data.labels(), pass);
    const auto a = dense.now.coefficients(true), b = sparse.now.coefficients(true);
    for (std::size_t j = 0; j < a.size(); ++j) expect(std::fabs(a[j] - b[j]) < 1e-9, "dense and sparse learn alike");
    const auto s = dense.reservoir.kept.scores(1, a.data()), t = sparse.reservoir.kept.scores(1, a.data());
    expect(!s.empty() && s.size() == t.size(), "reservoirs hold as much");
    for (std::size_t k = 0; k < s.size(); ++k) expect(std::fabs(s[k] - t[k]) < 1e-9, "reservoirs hold the same rows");
}

// The loop for the default settings against the one for all: a ball that no model leaves asks for the latter.
// With many columns the numbers of a column lie side by side: the same model, saved and loaded too, and for dense rows.
static void test_many_columns(const Data& data) {
    for (const bool constrained : {false, true}) {
        Learner few = make(constrained), many = make(constrained, 0.0, Weights::wide);
        const SparseRows<double> rows(data.values.data(), data.columns.data(), data.starts.data(), data.n,
                                      Weights::wide);
        few.learn(data.sparse(), data.labels(), Pass{});
        many.learn(rows, data.labels(), Pass{});
        expect(!few.now.weights.is_side_by_side() && many.now.weights.is_side_by_side(), "how the numbers lie");
        auto w = many.now.coefficients(true);
        w.resize(7);
        const auto is_few = [&](double off) {
            const auto v = few.now.coefficients(true);
            double largest = 0, worst = 0;
            for (std::size_t j = 0; j < 7; ++j) {
                largest = std::max(largest, std::fabs(v[j]));
                worst = std::max(worst, std::fabs(w[j] - v[j]));
            }
            return worst <= off * largest;
        };
        expect(is_few(3e-6), "the model does not depend on it, but for the rounding of floats");
        Learner other = make(constrained, 0.0, Weights::wide);
        const std::string bytes = save(many);
        load(other, bytes.data(), bytes.size());
        expect(save(other) == bytes && other.now.coefficients(true) == many.now.coefficients(true), "saved and loaded");
        bool refused = false;
        try {
            load(few, bytes.data(), bytes.size());
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        expect(refused, "another number of columns is refused");
        const Index n = 20;
        std::vector<double> values(static_cast<std::size_t>(n * Weights::wide));
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < 7; ++j)
                values[static_cast<std::size_t>(i * Weights::wide + j)] =
                    data.values[static_cast<std::size_t>(i * 7 + j)];
        many.learn(DenseRows<double>(values.data(), n, Weights::wide), data.labels(), Pass{});
        few.learn(data.dense(0, n), data.labels(), Pass{});
        w = many.now.coefficients(true);
        expect(is_few(3e-6), "dense rows go on from there");
    }
}

static void test_plain_is_any(const Data& data) {
    std::vector<double> weight(static_cast<std::size_t>(data.n), 1.0);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 0.3 * static_cast<double>(i % 5);
    for (const double* weights : {static_cast<const double*>(nullptr), static_cast<const double*>(weight.data())})
        for (const auto& [shuffle, reward] : {std::pair{false, Reward::hinge},
                                              {true, Reward::hinge},
                                              {false, Reward::logistic},
                                              {true, Reward::logistic}}) {
            Learner plain = make(), any = make(false, 1e100);
            plain.is.reward = any.is.reward = reward;
            Pass pass;
            pass.shuffle = shuffle;
            const Labels labels{data.y.data(), weights};
            for (Learner* learner : {&plain, &any}) learner->learn(data.sparse(), labels, pass);
            expect(plain.now.coefficients(true) == any.now.coefficients(true), "both loops learn the same weights");
            expect(plain.now.intercept(true) == any.now.intercept(true), "both loops learn the same offset");
            expect(plain.now.history.marks == any.now.history.marks, "both loops have the same history");
            expect(plain.now.duals.rate(1) == any.now.duals.rate(1), "both loops count alike");
        }
}

// Slopes and steps without exponentials, roots and divisions, against those with them.
static void test_slopes_and_steps() {
    double worst = 0;
    for (int k = -60000; k <= 60000; ++k) {
        const double z = k / 1000.0;
        worst = std::max(worst, std::fabs(fall(z) - 1.0 / (1.0 + std::exp(z))));
        expect(fall(z) >= 0, "no slope is below zero");
    }
    expect(worst < 1e-12, "the slope of the logistic reward");
    for (const double z : {1e300, HUGE_VAL, -1e300, -HUGE_VAL}) expect(std::fabs(fall(z) - (z < 0)) < 1e-15, "far out");
    expect(std::isfinite(fall(NAN)), "a place in the table for what is not a number");
    for (const double before : {0.0, 1e-30, 0.7, 1e8, 1e299})
        for (const double x : {1e-9, -0.3, 2.0, 1e160}) {
            const AdaptiveStep step(1.7, 0.6);
            const double sum = step.sum(before, x), right = 1.7 * 0.6 * x / std::sqrt(sum);
            expect(sum == (before == 0 ? step.sum(0.0, x) : step.sum<true>(before, x)), "one sum, asked or not");
            expect(std::fabs(step.length(x, sum) / right - 1) < 3e-5, "the length of a step");
            expect(sum <= 1e300, "a sum stays finite");
        }
    expect(close(AdaptiveStep(1.7, 0.6).sum(0.0, 0.5), 4 * 0.85 * 0.85), "the first gradient counts as four");
}

// Rows offered by pieces of many take the places that they take one by one, with rows without weight among them.
static void test_pieces_offer_alike(const Data& data) {
    std::vector<double> weight(static_cast<std::size_t>(data.n));
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<double>(i % 7 % 3);
    for (const double* weights : {static_cast<const double*>(nullptr), static_cast<const double*>(weight.data())}) {
        Reservoir whole({60, 25}, 5), single({60, 25}, 5);
        whole.offer_all(data.y.data(), weights, 3, data.n, nullptr);
        for (Index i = 3; i < data.n; ++i) {
            if (weights != nullptr && weights[i] == 0.0) continue;
            const int side = data.y[static_cast<std::size_t>(i)] > 0;
            const Index place = single.offer(side);
            if (place != Reservoir::nowhere) single.note(side, place, i, false);
        }
        for (int side = 0; side < 2; ++side) {
            expect(whole.counters.accepted[side] == single.counters.accepted[side], "as many rows are counted");
            expect(whole.counters.next[side] == single.counters.next[side], "the same row is next");
            expect(whole.pending(side).size() == single.pending(side).size(), "as many places are taken");
            for (std::size_t k = 0; k < whole.pending(side).size(); ++k)
                expect(whole.pending(side)[k].row == single.pending(side)[k].row, "by the same rows");
        }
    }
}

// Rows of later chunks take the places of earlier ones, and lie apart until their chunk has come to its end.
static void test_chunks_offer_alike(const Data& data) {
    Learner whole = make(), cut = make();
    whole.learn(data.dense(0, data.n), data.labels(), Pass{});
    for (Index from = 0, to; from < data.n; from = to) {
        to = std::min(data.n, from + 1 + from % 11);
        cut.learn(data.dense(from, to), data.labels(from), Pass{});
    }
    const auto w = whole.now.coefficients(true);
    expect(cut.now.coefficients(true) == w, "chunks do not change the weights");
    for (int side = 0; side < 2; ++side) {
        expect(whole.reservoir.kept.scores(side, w.data()) == cut.reservoir.kept.scores(side, w.data()),
               "nor what the reservoir holds");
        expect(whole.reservoir.counters.accepted[side] == cut.reservoir.counters.accepted[side], "nor what it counts");
    }
}

int main() {
    const Data data;
    test_bad_row(data);
    test_no_memory(data);
    test_stop(data);
    test_untidy_rows(data);
    test_forged_archives(data);
    test_archive(data);
    test_dense_is_sparse(data);
    test_slopes_and_steps();
    test_plain_is_any(data);
    test_many_columns(data);
    test_pieces_offer_alike(data);
    test_chunks_offer_alike(data);
    return verdict();
}
