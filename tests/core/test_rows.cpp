// Rows of all four kinds, their views and products, over threads too: built plain, with the vector clones and under the
// sanitizers, the thread sanitizer among them.

#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.hpp"
#include "base/products.hpp"
#include "base/rows.hpp"
#include "base/stop.hpp"
#include "check.hpp"
#include "wish.hpp"

using namespace steelyard;

namespace {

// One table, mostly zero, as all four kinds of rows and with both widths of indices.
template <class T>
struct Table {
    Index n, d;
    std::vector<T> dense, values;
    std::vector<std::int32_t> columns, starts{0};
    std::vector<std::int64_t> wide_columns, wide_starts;

    Table(Index rows, Index width, unsigned seed = 1) : n(rows), d(width) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < d; ++j) {
                const bool stored = i % 11 != 3 && uniform(random) > 0.2;  // some rows are empty
                const T x = stored ? static_cast<T>(uniform(random)) : T(0);
                dense.push_back(x);
                if (!stored) continue;
                values.push_back(x);
                columns.push_back(static_cast<std::int32_t>(j));
            }
            starts.push_back(static_cast<std::int32_t>(values.size()));
        }
        wide_columns.assign(columns.begin(), columns.end());
        wide_starts.assign(starts.begin(), starts.end());
    }

    double at(Index i, Index j) const { return static_cast<double>(dense[static_cast<std::size_t>(i * d + j)]); }
    DenseRows<T> as_dense() const { return {dense.data(), n, d}; }
    SparseRows<T> as_csr() const { return {values.data(), columns.data(), starts.data(), n, d}; }
    std::vector<Rows> every_way() const {
        return {as_dense(), as_csr(), SparseRows<T>{values.data(), wide_columns.data(), wide_starts.data(), n, d},
                SparseRows<T>{values.data(), columns.data(), wide_starts.data(), n, d}};
    }
};

std::vector<double> some_numbers(Index n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> made(static_cast<std::size_t>(n));
    for (double& x : made) x = normal(random);
    return made;
}

bool near(const std::vector<double>& a, const std::vector<double>& b) {
    bool all = a.size() == b.size();
    for (std::size_t k = 0; all && k < a.size(); ++k) all = std::fabs(a[k] - b[k]) <= 1e-10 * (1 + std::fabs(b[k]));
    return all;
}

}  // namespace

static void test_one_row() {
    const double w[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100};
    const double dense[] = {1, 0, 2, 0, 0, 0, 0, 0, 3, 0};
    const double values[] = {1, 2, 3};
    const std::int32_t narrow[] = {0, 2, 8};
    const std::int64_t wide[] = {0, 2, 8};
    const DenseRow<double> in_full{dense, 10, 0.5};
    expect(in_full.dot(w) == 1 + 6 + 27 + 50, "a dense row with a constant");
    for (const Indices& columns : {Indices(narrow), Indices(wide)}) {
        const SparseRow<double> row{values, columns, 3, 0.5, 10};
        expect(row.dot(w) == 84, "a sparse row with a constant");
        double sum[11] = {0};
        row.add_to(sum, 2.0);
        expect(sum[0] == 2 && sum[2] == 4 && sum[8] == 6 && sum[10] == 1 && sum[1] == 0, "a sparse row added");
        expect(row.inside(9) && !row.inside(8), "columns inside");
        expect(columns[2] == 8 && columns.from(1)[0] == 2, "indices");
        row.columns.prefetch(3);
        const SparseRow<double> empty{values, columns, 0};
        expect(empty.dot(w) == 0 && empty.inside(0), "an empty row");
    }
    const std::int32_t negative[] = {-1};
    expect(!SparseRow<double>{values, Indices(negative), 1}.inside(10), "a negative column is not inside");
}

// Every kind of rows against sums written out, whole and as a view of some rows with a constant.
template <class T>
static void test_views_and_products(Index width) {
    const Table<T> table(137, width);
    std::vector<Index> which(90);
    for (Index i = 0; i < 90; ++i) which[static_cast<std::size_t>(i)] = (i * 31) % table.n;
    const Stop never;
    for (const double constant : {0.0, 2.5})
        for (const bool part : {false, true})
            for (const Rows& rows : table.every_way()) {
                const Index n = part ? 90 : table.n, d = width + (constant != 0);
                const auto entry = [&](Index i, Index j) {
                    return j == width ? constant : table.at(part ? which[static_cast<std::size_t>(i)] : i, j);
                };
                const auto W = some_numbers(2 * d, 2), a = some_numbers(3 * n, 3);
                std::vector<double> scores(static_cast<std::size_t>(2 * n)), sums(static_cast<std::size_t>(3 * d)),
                    norms(static_cast<std::size_t>(n));
                for (Index i = 0; i < n; ++i)
                    for (Index j = 0; j < d; ++j) {
                        for (Index k = 0; k < 2; ++k)
                            scores[static_cast<std::size_t>(2 * i + k)] +=
                                entry(i, j) * W[static_cast<std::size_t>(k * d + j)];
                        for (Index k = 0; k < 3; ++k)
                            sums[static_cast<std::size_t>(k * d + j)] +=
                                entry(i, j) * a[static_cast<std::size_t>(k * n + i)];
                        norms[static_cast<std::size_t>(i)] += entry(i, j) * entry(i, j);
                    }
                visit(rows, [&](const auto& whole) {
                    const auto view = viewed(whole, {part ? which.data() : nullptr, n, constant});
                    expect(view.n_rows == n && view.n_cols == d, "the shape of a view");
                    std::vector<double> found(scores.size()), added(sums.size(), 0.0), squares(norms.size());
                    multiply(view, {W.data(), 2}, found.data(), 2, never);
                    add_up(view, {a.data(), 3}, added.data(), 2, never);
                    square(view, squares.data(), never);
                    expect(near(found, scores), "scores");
                    expect(near(added, sums), "sums by coefficient");
                    expect(near(squares, norms), "squared norms");
                    Index entries = 0;
                    for (Index i = 0; i < n; ++i) {
                        view.prefetch(i);
                        view.row(i).each([&](Index j, double x) {
                            expect(x == entry(i, j), "each entry of a view");
                            ++entries;
                        });
                    }
                    expect(entries == view.n_entries(), "the number of entries");
                });
            }
}

template <class T>
static void test_strided_rows() {
    const Table<T> table(20, 6);
    const DenseRows<T> left(table.dense.data(), 10, 3, 12);  // three columns of every second row
    const double w[] = {1, -2, 3};
    for (Index i = 0; i < 10; ++i) {
        const double wanted = table.at(2 * i, 0) - 2 * table.at(2 * i, 1) + 3 * table.at(2 * i, 2);
        expect(close(left.row(i).dot(w), wanted), "rows with a stride");
    }
}

// What a function with clones throws: GCC would have it end the program where the caller has something to clean up.
struct Throwing {
    template <class T>
    STEELYARD_CLONES static double sum(const std::vector<T>& x) {
        double sum = 0;
        for (const T value : x) sum += static_cast<double>(value);
        if (sum > 3) throw Stopped{};
        return sum;
    }
    template <class T>
    STEELYARD_CLONES double product(const std::vector<T>& x) const {
        double product = scale;
        for (const T value : x) product *= static_cast<double>(value);
        if (product > 3) throw Stopped{};
        return product;
    }
    double scale = 1;
};

template <class T>
static void test_exceptions_leave_functions_with_clones() {
    const Throwing throwing;
    for (const T value : {T(1), T(4)}) {
        int stopped = 0;
        const std::vector<T> x(2, value);
        try {
            const std::vector<T> to_clean_up(100, value);
            expect(may_throw(&Throwing::sum<T>)(x) + static_cast<double>(to_clean_up[0]) == 3, "a sum");
        } catch (const Stopped&) {
            ++stopped;
        }
        try {
            const std::vector<T> to_clean_up(100, value);
            expect((throwing.*may_throw(&Throwing::product<T>))(x) + static_cast<double>(to_clean_up[0]) == 2,
                   "a product");
        } catch (const Stopped&) {
            ++stopped;
        }
        expect(stopped == (value > 1 ? 2 : 0), "what a function with clones throws arrives");
    }
}

// Blocks enough that every stripe has several.
template <class T>
static void test_the_same_bits_for_any_number_of_threads() {
    const Index n = 20 * Blocks::size + 77, d = 3;
    const Table<T> table(n, d);
    const auto a = some_numbers(2 * n, 5);
    const Stop never;
    for (const Rows& rows : {Rows(table.as_dense()), Rows(table.as_csr())})
        visit(rows, [&](const auto& whole) {
            const auto x = viewed(whole, {nullptr, n, 1.5});
            std::vector<double> first(static_cast<std::size_t>(2 * x.n_cols), 0.0);
            add_up(x, {a.data(), 2}, first.data(), 1, never);
            for (const int n_threads : {2, 3, 7, 40}) {
                std::vector<double> again(first.size(), 0.0);
                add_up(x, {a.data(), 2}, again.data(), n_threads, never);
                expect(again == first, "sums have the same bits for any number of threads");
            }
        });
}

static void test_stripes_without_blocks() {
    double out = 3;
    add_in_stripes(4, 0, 1, &out, [](Index, double*) { expect(false, "no block, no task"); });
    expect(out == 3, "nothing added");
    for (const int n_threads : {1, 4}) {
        out = 3;
        add_in_stripes(n_threads, 100, 1, &out, [](Index b, double* into) { *into += static_cast<double>(b); });
        expect(out == 3 + 4950, "every block once");
    }
}

template <class T>
static void test_faults() {
    const Stop never;
    Table<T> table(3 * Blocks::size, 4);
    const Index at = 2 * Blocks::size + 5;
    for (const Rows& rows : table.every_way())
        visit(rows, [&](const auto& x) { expect(find_fault(x, never).row == -1, "nothing is wrong"); });
    const T bad[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                     -std::numeric_limits<T>::infinity()};
    for (const T value : bad) {
        Table<T> broken = table;
        broken.dense[static_cast<std::size_t>(at * 4 + 2)] = value;
        broken.values[static_cast<std::size_t>(broken.starts[static_cast<std::size_t>(at)])] = value;
        for (const Rows& rows : broken.every_way())
            visit(rows, [&](const auto& x) {
                const Fault fault = find_fault(x, never);
                expect(fault.row == at && std::string(fault.what) == "not finite", "a value that is not finite");
            });
    }
    for (const std::int32_t column : {4, -1, std::numeric_limits<std::int32_t>::max()}) {
        Table<T> broken = table;
        const auto k = static_cast<std::size_t>(broken.starts[static_cast<std::size_t>(at)]);
        broken.columns[k] = column;
        broken.wide_columns[k] = column;
        for (const Rows& rows : broken.every_way())
            visit(rows, [&](const auto& x) {
                if constexpr (!std::decay_t<decltype(x)>::is_dense) {
                    const Fault fault = find_fault(x, never);
                    expect(fault.row == at && std::string(fault.what) == "outside", "a column outside");
                }
            });
    }
    Table<T> unordered = table;
    const auto k = static_cast<std::size_t>(unordered.starts[1]);
    std::swap(unordered.columns[k], unordered.columns[k + 1]);
    expect(std::string(find_fault(unordered.as_csr(), never).what) == "unordered", "columns that do not rise");
    unordered.values.back() = bad[0];
    expect(std::string(find_fault(unordered.as_csr(), never).what) == "not finite", "what is worse is told first");
}

static void test_products_can_be_stopped() {
    const Table<float> table(4 * Blocks::size, 2);
    const auto w = some_numbers(2, 1), a = some_numbers(table.n, 2);
    std::vector<double> out(static_cast<std::size_t>(table.n));
    Wish wish;
    wish.wanted = true;
    const auto started = std::chrono::steady_clock::now();
    while (!wish.is_asked_for() && std::chrono::steady_clock::now() - started < std::chrono::seconds(20))
        std::this_thread::yield();
    for (const int n_threads : {1, 2}) {
        int stopped = 0;
        const auto count = [&](auto&& product) {
            try {
                product();
            } catch (const Stopped&) {
                ++stopped;
            }
        };
        count([&] { multiply(table.as_csr(), {w.data(), 1}, out.data(), n_threads, wish); });
        count([&] { add_up(table.as_dense(), {a.data(), 1}, out.data(), n_threads, wish); });
        count([&] { square(table.as_dense(), out.data(), wish); });
        count([&] { find_fault(table.as_csr(), wish); });
        expect(stopped == 4, "each product asks");
    }
}

int main() {
    test_one_row();
    for (const Index width : {1, 3, 8, 13, 20}) {
        test_views_and_products<float>(width);
        test_views_and_products<double>(width);
    }
    test_strided_rows<float>();
    test_strided_rows<double>();
    test_the_same_bits_for_any_number_of_threads<float>();
    test_the_same_bits_for_any_number_of_threads<double>();
    test_exceptions_leave_functions_with_clones<float>();
    test_exceptions_leave_functions_with_clones<double>();
    test_stripes_without_blocks();
    test_faults<float>();
    test_faults<double>();
    test_products_can_be_stopped();
    return verdict();
}
