// Packed rows against one product at a time: dense, sparse, and sparse with one value a column; with and without a
// constant column; put in one by one, many at a time, and both.
#include "path/packed_rows.hpp"

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "check.hpp"

using namespace steelyard;

namespace {

constexpr Index n = 61, d = 19;

double uniform(Shuffler& random) { return static_cast<double>(random.below(1 << 20)) / (1 << 19) - 1; }

template <class R>
void test_products(const R& rows, const char* what) {
    Shuffler random{5};
    std::vector<double> w(static_cast<std::size_t>(rows.n_cols)), v = w;
    for (int cut : {0, 3, 8, 40, 61}) {  // rows put in one by one, before the others
        PackedRows<R> packed(rows, nullptr);
        for (int round = 0; round < 2; ++round) {  // what was there before is gone
            packed.clear();
            std::vector<Index> which(static_cast<std::size_t>(n));
            for (Index i = 0; i < n; ++i) which[static_cast<std::size_t>(i)] = (7 * i + round) % n;
            for (int k = 0; k < cut; ++k) packed.add(which[static_cast<std::size_t>(k)]);
            packed.add(which.data() + cut, static_cast<std::size_t>(n - cut));
            for (auto& value : w) value = uniform(random);
            for (auto& value : v) value = uniform(random);
            packed.face(w.data(), v.data());
            for (std::size_t k = 0; k < which.size(); ++k) {
                const auto found = packed.products(k / packed.lanes);
                const auto x = rows.row(which[k]);
                expect(close(found.with_w[k % packed.lanes], x.dot(w.data())), what);
                expect(close(found.with_v[k % packed.lanes], x.dot(v.data())), what);
            }
        }
    }
}

struct Sparse {
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> starts{0};

    // Rows of different lengths, some of them empty; one value a column, or as many as there are entries.
    explicit Sparse(bool one_value) {
        Shuffler random{3};
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < d; ++j) {
                if (random.below(10) >= i % 11) continue;
                columns.push_back(static_cast<std::int32_t>(j));
                values.push_back(one_value ? 0.5 + static_cast<double>(j) : uniform(random));
            }
            starts.push_back(static_cast<std::int64_t>(values.size()));
        }
    }
    SparseRows<double> rows(double constant) const {
        return viewed(SparseRows<double>(values.data(), columns.data(), starts.data(), n, d), {nullptr, n, constant});
    }
};

void test_dense() {
    Shuffler random{1};
    std::vector<double> X(static_cast<std::size_t>(n * d));
    for (double& x : X) x = uniform(random);
    const DenseRows<double> rows(X.data(), n, d);
    test_products(rows, "dense");
    std::vector<Index> all(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = i;
    test_products(viewed(rows, {all.data(), n, 2.5}), "dense with a constant");
}

}  // namespace

int main() {
    test_dense();
    for (const double constant : {0.0, 2.5}) {
        test_products(Sparse(false).rows(constant), "sparse");
        test_products(Sparse(true).rows(constant), "sparse, one value a column");
        Sparse last(true);
        last.values.back() += 1;  // one entry of another value is enough
        test_products(last.rows(constant), "sparse, one column with two values");
    }
    return verdict();
}
