// What the machine can do: a pass of dot products, hinge and AdaGrad steps with fixed class weights, and nothing else.
//
// No tape, no sample for the threshold, no tallies, no checks, no learning curve. `benchmarks/online.py` compiles this
// for the machine it runs on and times it beside the learner, as an upper bound for it. Both have the averaged model.
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

struct Model {
    std::vector<double> v, u, squares;
    double spent = 0, t = 0, b = 0, squares_b = 0;
    explicit Model(std::int64_t n) : v(n), u(n), squares(n) {}

    void move_offset(double g) {
        squares_b += g * g;
        b += 0.6 * g / std::sqrt(squares_b);
    }
};

}  // namespace

extern "C" double bare_dense(const double* X, const std::int8_t* y, std::int64_t n, std::int64_t d,
                             const double* weight) {
    Model model(d);
    double steps = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const double* const x = X + i * d;
        double score = model.b;
        for (std::int64_t j = 0; j < d; ++j) score += x[j] * model.v[j];
        if (y[i] * score < 1) {
            const double g = y[i] * weight[y[i] > 0];
            double *const v = model.v.data(), *const u = model.u.data(), *const s = model.squares.data();
            const double spent = model.spent;
#pragma GCC ivdep
            for (std::int64_t j = 0; j < d; ++j) {
                s[j] += g * g * x[j] * x[j] + 1e-12;
                const double move = 0.6 * g * x[j] / std::sqrt(s[j]);
                v[j] += move;
                u[j] += spent * move;
            }
            model.move_offset(g);
            ++steps;
        }
        model.spent += ++model.t;
    }
    return steps / static_cast<double>(n);
}

extern "C" double bare_sparse(const double* values, const std::int32_t* columns, const std::int32_t* starts,
                              const std::int8_t* y, std::int64_t n, std::int64_t d, const double* weight) {
    Model model(d);
    double steps = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        double score[4] = {model.b, 0, 0, 0};
        std::int32_t k = starts[i];
        const std::int32_t end = starts[i + 1];
        for (; k + 4 <= end; k += 4)
            for (int m = 0; m < 4; ++m) score[m] += values[k + m] * model.v[columns[k + m]];
        for (; k < end; ++k) score[0] += values[k] * model.v[columns[k]];
        if (y[i] * (score[0] + score[1] + score[2] + score[3]) < 1) {
            const double g = y[i] * weight[y[i] > 0];
            for (k = starts[i]; k < end; ++k) {
                const std::int32_t j = columns[k];
                const double x = values[k], sum = model.squares[j] + g * g * x * x + 1e-12;
                const double move = 0.6 * g * x / std::sqrt(sum);
                model.squares[j] = sum;
                model.v[j] += move;
                model.u[j] += model.spent * move;
            }
            model.move_offset(g);
            ++steps;
        }
        model.spent += ++model.t;
    }
    return steps / static_cast<double>(n);
}
