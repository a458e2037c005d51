// Rows beyond two thousand million numbers, without the memory for them: pages that nobody touches take none.
//
// A few rows lie at the far ends of a mapping of more than 2^31 numbers, dense and as CSR; every product must find them
// there. An index that is 32 bits wide anywhere on the way would read other pages, which are zero, or none at all.
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <vector>

#include "base/products.hpp"
#include "base/rows.hpp"
#include "check.hpp"

using namespace steelyard;

namespace {

constexpr Index far = (Index(1) << 31) + 12346;  // a multiple of 3: numbers before the last row

// Room for `count` numbers of which most are never touched; null where the system does not lend it.
template <class T>
class Vast {
public:
    explicit Vast(Index count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
#if __has_include(<sys/mman.h>)
        void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) at_ = static_cast<T*>(p);
#endif
    }
    Vast(const Vast&) = delete;
    ~Vast() {
#if __has_include(<sys/mman.h>)
        if (at_) munmap(at_, bytes_);
#endif
    }
    T* at() const { return at_; }

private:
    [[maybe_unused]] std::size_t bytes_;
    T* at_ = nullptr;
};

template <class R>
void check(const R& rows, const char* what) {
    const double w[] = {1, 10, 100}, a[] = {1, 2};
    const Stop never;
    for (const int n_threads : {1, 2}) {
        double scores[2] = {0, 0}, sums[3] = {0, 0, 0}, squares[2] = {0, 0};
        multiply(rows, {w, 1}, scores, n_threads, never);
        add_up(rows, {a, 1}, sums, n_threads, never);
        square(rows, squares, never);
        expect(scores[0] == 321 && scores[1] == 654, what);
        expect(sums[0] == 9 && sums[1] == 12 && sums[2] == 15, what);
        expect(squares[0] == 14 && squares[1] == 77, what);
        expect(find_fault(rows, never, {n_threads}).row < 0, what);
    }
}

}  // namespace

template <class T>
static void test_dense() {
    const Vast<T> room(far + 3);
    if (!room.at()) return;
    for (Index j = 0; j < 3; ++j) {
        room.at()[j] = static_cast<T>(j + 1);
        room.at()[far + j] = static_cast<T>(j + 4);
    }
    check(DenseRows<T>(room.at(), 2, 3, far), "dense rows that lie far apart");
    const std::vector<Index> which = {0, far / 3};
    DenseRows<T> viewed(room.at(), far / 3 + 1, 3, 3);  // row far / 3 begins at far
    viewed.which = which.data();
    viewed.n_rows = 2;
    if (far % 3 == 0) check(viewed, "a view of a row beyond 2^31 numbers");
    expect(DenseRows<T>(room.at(), far / 3 + 1, 3).n_entries() > (Index(1) << 31), "the number of dense entries");
}

template <class T>
static void test_csr() {
    const Vast<T> values(far + 3);
    const Vast<std::int32_t> narrow(far + 3);
    const Vast<std::int64_t> wide(far + 3);
    if (!values.at() || !narrow.at() || !wide.at()) return;
    for (const Index begin : {Index(0), far})
        for (Index j = 0; j < 3; ++j) {
            values.at()[begin + j] = static_cast<T>(j + (begin ? 4 : 1));
            narrow.at()[begin + j] = static_cast<std::int32_t>(j);
            wide.at()[begin + j] = j;
        }
    // Row 0 has three numbers, row 1 (left out by the view) all that lie between, row 2 the last three.
    const std::vector<std::int64_t> starts = {0, 3, far, far + 3};
    const std::vector<Index> which = {0, 2};
    for (const Indices& columns : {Indices(narrow.at()), Indices(wide.at())}) {
        SparseRows<T> rows(values.at(), columns, Indices(starts.data()), 3, 3);
        expect(rows.n_entries() == far + 3, "the number of stored entries");
        rows.which = which.data();
        rows.n_rows = 2;
        check(rows, "CSR rows beyond 2^31 stored numbers");
        expect(rows.n_entries() == 6, "the number of entries of a view");
    }
}

int main() {
    test_dense<float>();
    test_dense<double>();
    test_csr<float>();
    test_csr<double>();
    return verdict();
}
