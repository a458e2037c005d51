// The cost path of kernels, in the dual form, built plain and under the sanitizers.

#include "path/audit.hpp"
#include "path/kernel_space.hpp"
#include "path/trace.hpp"

#include "check.hpp"
#include "path_data.hpp"

using namespace steelyard;

// The kernel x.z + 1 on the columns without the constant one: the dual form must find the path of the features, kink by
// kink, and models that score every row alike, whether the cache holds the matrix or two rows of it.
static void test_dual_form_equals_primal_form(Ties ties, double cache_bytes) {
    const Data data = make(70, 5, ties, 11);
    std::vector<double> plain;
    for (Index i = 0; i < data.n; ++i) plain.insert(plain.end(), data.X.begin() + i * 5, data.X.begin() + i * 5 + 4);
    KernelRowsOf<double> kernel(DenseRows<double>{plain.data(), data.n, 4}, {KernelKind::linear, 1, 0, 1, 1.0},
                                cache_bytes);
    const auto features = data.space();
    const KernelSpace space(kernel);
    const PathLog log = trace(data), dual = one_leg(space, {data.given(), 0, 1});
    expect(dual.end == 1 && dual.size() > 20 && dual.size() == log.size(), "as many kinks");
    double apart = 0;
    for (Index k = 0; k < std::min(log.size(), dual.size()); ++k)
        apart = std::max(apart, std::fabs(log.tau[k] - dual.tau[k]));
    expect(apart < 1e-8, "at the same tau");
    PathReplay<Linear> primal(features, data.given(), log);
    PathReplay<KernelSpace> replay(space, data.given(), dual);
    std::vector<double> w(5), c(70);
    double scores = 0, walked = 0;
    for (double tau = 0.003; tau < 1; tau += 0.07) {
        primal.recover(tau, w.data());
        replay.recover(tau, c.data());
        PathVector force;
        space.clear(force);
        for (Index i = 0; i < 70; ++i) space.add(force, i, c[i]);
        for (Index i = 0; i < 70; ++i)
            scores = std::max(scores, std::fabs(space.value(i, force) - data.rows().row(i).dot(w.data())));
    }
    expect(scores < 1e-7, "the same scores");
    std::vector<double> single(70);
    PathReplay<KernelSpace> one(space, data.given(), dual);
    replay.visit(0, dual.size() + 2, [&](Index, const PathPoint& at) {
        replay.write(c.data());
        one.recover(at.tau, single.data());
        PathVector force;
        space.clear(force);
        for (Index i = 0; i < 70; ++i) space.add(force, i, c[i] - single[i]);
        for (Index i = 0; i < 70; ++i) walked = std::max(walked, std::fabs(space.value(i, force)));
    });
    expect(walked < 1e-7, "recover equals the walk at every knot");
    PathAudit<KernelSpace> audit(space, {data.given(), data.original.data(), 1.0}, dual);
    expect(audit.worst(1) < 1e-8, "optimal at every kink");
}

// RBF functions of distinct rows are independent, those of equal rows are not; more members than columns.
static void test_kernel_path_is_optimal(Ties ties) {
    const Data data = make(90, 4, ties, 12);
    KernelRowsOf<double> kernel(data.rows(), {KernelKind::rbf, 0.7, 0, 1, 1.0}, 1e6);
    const KernelSpace space(kernel);
    const PathLog log = one_leg(space, {data.given(), 0, 1});
    std::size_t most = 0;
    for (const Checkpoint& c : log.checkpoints) most = std::max(most, c.members.size());
    expect(most > 4, "more members than columns");
    PathAudit<KernelSpace> audit(space, {data.given(), data.original.data(), 1.0}, log);
    expect(audit.worst(1) < 1e-8, "a kernel path is optimal at every kink");
}

// Members in a kernel's block change places when one leaves and the factor is made anew in place: values must not.
static void test_members_of_a_kernel() {
    const Data data = make(60, 4, Ties::none, 13);
    KernelRowsOf<double> kernel(data.rows(), {KernelKind::rbf, 0.5, 0, 1, 0.0}, 1e6);
    const KernelSpace space(kernel);
    MarginSet<KernelSpace> set(space, data.sign.data());
    Shuffler random{3};
    const PathVector base{std::vector<double>(60, 0.25), {}, std::vector<double>(60, 0.0)};
    std::vector<double> a;
    PathVector w;
    double worst = 0;
    for (int step = 0; step < 600; ++step) {
        const Index i = random.below(60);
        if (set.size() == 40 || (set.size() > 0 && random.below(3) == 0))
            set.remove(random.below(set.size()));
        else if (std::find(set.members().begin(), set.members().end(), i) == set.members().end())
            set.add(i);
        set.solve(base, data.target.data(), a, w);
        for (Index j : {Index{0}, Index{17}, i}) {
            double value = base.v[j];
            for (Index k = 0; k < set.size(); ++k)
                value += data.sign[set.members()[k]] * a[k] * kernel.row(set.members()[k])[j];
            worst = std::max(worst, std::fabs(value - set.rows().value(j, w)) / (1 + std::fabs(value)));
        }
    }
    expect(worst < 1e-8, "a value is the force's and the members'");
}

int main() {
    for (Ties ties : {Ties::none, Ties::integers, Ties::copies}) {
        test_dual_form_equals_primal_form(ties, 1e6);
        test_dual_form_equals_primal_form(ties, 0);
        test_kernel_path_is_optimal(ties);
    }
    test_members_of_a_kernel();
    return verdict();
}
