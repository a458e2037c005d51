// The state of a learner on a stream: what it has to carry from one row to the next, and nothing else.
//
// `Settings` never change; `State` is what a checkpoint holds, together with the reservoir. `fields` lists every
// member once, for the archive (`stream/archive.hpp`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rows.hpp"
#include "stream/class_weights.hpp"
#include "stream/rewards.hpp"
#include "stream/weights.hpp"

namespace steelyard {

enum class Steps : std::int32_t { adaptive, root, inverse };  // per coordinate; eta0 / sqrt(t); eta0 / (1 + alpha t)

struct LearnerSettings {
    DualSettings duals;
    Reward reward = Reward::hinge;
    double width = 1.0;
    // A nonconvex reward has no slope where a row is wrong by far, so a bad start would last: the guard begins with the
    // hinge, for so many rows. benchmarks/online_settings.py: recall under a cap of 0.02 is 0.373 for none, 0.441 for
    // 5,000, 0.459 for 20,000 and 0.460 for all.
    double hinge_first = 20000.0;
    Steps steps = Steps::adaptive;
    double eta0 = 0.0;  // 0: from the scale of the first rows
    // Adaptive steps, in units of the inputs' scale. From 0.3 to 2.4 F1 and G-mean move by 0.002 (online_settings.py);
    // benchmarks/online_steps.py compares with tuned steps.
    double unit_step = 0.6;
    double alpha = 0.0;   // weight decay
    double radius = 0.0;  // of the ball that w is kept in; 0: none
    double growth = 1.0;  // row t enters the average with weight t^growth, growth 0 or 1
    bool intercept = true;
    Index refresh = 16;
    double epoch = 0.0, epoch_growth = 2.0;  // SCAN to the letter: rows of the first epoch
    Index capacity[2] = {0, 0};              // of the reservoir, for each class
    double held_while_wide = 0.0;  // share of all rows that only it may see while rows are fewer than features
    std::uint64_t seed = 0;
};

// The chunk to learn from: labels are -1 and +1; no weights means all 1.
struct Labels {
    const std::int8_t* y;
    const double* weight;
};

struct Pass {
    bool shuffle = false;
    std::uint64_t number = 0;  // later passes over the same rows leave the reservoir alone
    bool disposable = false;   // the caller drops the learner if it fails, so no copy of the state need be kept

    bool is_first() const { return number == 0; }
};

// A learning curve: the tallies at rows that are further and further apart, at most `most` of them (more than a plot
// has room for), from every thousand rows on (a rate with a standard error of 0.016).
struct History {
    static constexpr std::size_t most = 512;  // see above
    static constexpr std::size_t width =
        9;  // rows, seen -, seen +, credit -, credit +, weight -, weight +, multiplier, level
    std::vector<double> marks;
    double every = 1000.0, next = 1000.0;

    void add(const double (&mark)[width]) {
        marks.insert(marks.end(), mark, mark + width);
        if (marks.size() >= most * width) {
            for (std::size_t k = 0; k < most / 2; ++k)
                std::copy_n(marks.begin() + static_cast<std::ptrdiff_t>((2 * k + 1) * width), width,
                            marks.begin() + static_cast<std::ptrdiff_t>(k * width));
            marks.resize(most / 2 * width);
            every *= 2.0;
        }
        next = mark[0] + every;
    }
    void take_room() { marks.reserve(most * width); }
};

// The scale of the inputs, from the first rows: a mean of squares over a thousand rows is within a few percent, and a
// step that is off by as much does not matter. Columns are only looked at to warn of scales far apart (by a factor of
// 1e4), for which 256 rows are plenty and ten entries of a column enough.
struct Warmup {
    static constexpr double rows_needed = 1000.0, rows_by_column = 256.0;  // see above
    static constexpr std::uint8_t enough = 10;                             // see above
    double rows = 0.0, entries = 0.0, squares = 0.0;
    LargeVector<float> peak;  // of each column: its largest absolute value, and its number of non-zeros
    LargeVector<std::uint8_t> count;

    template <class Row>
    STEELYARD_INLINE void look(const Row& row) {
        double non_zeros[4] = {0, 0, 0, 0}, sum[4] = {0, 0, 0, 0};  // one chain of additions would wait for itself
        for (Index k = 0; k < row.size; ++k) {
            const auto x = static_cast<double>(row.values[k]);
            non_zeros[k % 4] += x != 0.0 ? 1.0 : 0.0;
            sum[k % 4] += x * x;
        }
        if (rows < rows_by_column) look_by_column(row);
        entries += (non_zeros[0] + non_zeros[1]) + (non_zeros[2] + non_zeros[3]);
        squares += (sum[0] + sum[1]) + (sum[2] + sum[3]);
        rows += 1.0;
    }
    template <class Row>
    void look_by_column(const Row& row) {
        row.each([this](Index j, double x) {
            if (x == 0.0) return;
            const auto column = static_cast<std::size_t>(j);
            peak[column] = std::max(peak[column], static_cast<float>(std::fabs(x)));
            count[column] = static_cast<std::uint8_t>(std::min<int>(count[column] + 1, enough));
        });
    }
    double root_mean_square() const { return squares > 0.0 ? std::sqrt(squares / entries) : 1.0; }
    double root_mean_square_norm() const { return squares > 0.0 ? std::sqrt(squares / rows) : 1.0; }
    // Largest over smallest scale of a column.
    double spread() const {
        double low = std::numeric_limits<double>::infinity(), high = 0.0;
        for (std::size_t j = 0; j < count.size(); ++j)
            if (count[j] >= enough) low = std::min<double>(low, peak[j]), high = std::max<double>(high, peak[j]);
        return high > 0.0 ? high / low : 1.0;
    }
};

struct State {
    Weights weights;
    Duals duals;
    History history;
    Warmup warmup;
    double t = 0.0;      // rows learned
    double held = 0.0;   // rows that only the reservoir has seen, once a pass
    double again = 0.0;  // of both, those of later passes over rows seen before
    double clock = 0.0;  // rows since the steps were restarted
    double eta = 0.0;
    std::int64_t until = 1;  // rows until the next refresh
    // SCAN to the letter
    bool estimating = false;
    double epoch_left = 0.0, epoch_length = 0.0;
    std::vector<double> settled;  // the model of the last finished epoch, and its intercept
    double settled_b = 0.0;

    State(const LearnerSettings& is, Index n_cols)
        : weights(n_cols, is.steps == Steps::adaptive),
          until(is.refresh),
          epoch_left(is.epoch),
          epoch_length(is.epoch) {
        duals.is = is.duals;
        warmup.peak.resize(static_cast<std::size_t>(n_cols));
        warmup.count.resize(static_cast<std::size_t>(n_cols));
    }

    // The size of the sample that a measure's smoothing asks for: passes and weights do not make it larger.
    double rows_once() const { return t + held - again; }

    std::vector<double> coefficients(bool averaged) const {
        if (!settled.empty()) return settled;
        return averaged ? weights.averaged() : weights.last();
    }
    double intercept(bool averaged) const {
        if (!settled.empty()) return settled_b;
        return averaged ? weights.averaged_intercept() : weights.at.b;
    }
};

}  // namespace steelyard
