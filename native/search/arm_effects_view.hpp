// Arms as policies with arm effects see them: utilities, variances and covariances.
#pragma once

#include "model/arm_effects.hpp"
#include "search/arm_table.hpp"

namespace duelist {

// Arms of a decision by what is known: utilities, variances, and the covariance of any two. Duels tell nothing of the level of utilities, so all are
// relative to an arm with the middle value of every feature: where features are far from zero (a year, a time stamp), widths would be
// small differences of large numbers.
class ArmEffectsView {
public:
    ArmEffectsView(const ArmEffectsState& known, const ArmTable& table);

    i64 n() const { return table_.n; }
    const double* u() const { return utility_.data(); }
    // What the middle values add to every utility.
    double level() const { return kernels->dot(middle_.data(), known_.theta.data(), known_.dim); }
    const double* variance() const { return variance_.data(); }
    // Covariances of one arm with the listed ones (nullptr: with all), in their order.
    void covariances(i64 arm, const i64* listed, i64 count, double* out);
    // Squared widths of the pairs of one arm with the listed ones, from how their features differ: two arms far from the middle have large variances,
    // of which nothing would be left when they are taken from each other.
    void squares(i64 arm, const i64* listed, i64 count, double* out);

    // The `count` arms with the largest scores, by position; of equal ones the first.
    static std::vector<i64> largest(const double* scores, i64 n, i64 count);
    // The arm of the largest utility that has a partner left, itself perhaps; of equal ones the first; -1: none has.
    i64 leader(const PairConstraints& constraints) const;

private:
    const ArmEffectsState& known_;
    const ArmTable& table_;
    std::vector<i64> slot_;
    AlignedDoubles utility_, variance_, effect_variance_, lifted_, middle_, apart_, pulled_apart_;
    // Of every arm the distance x from the middle, and after those of all, C x + 2 c: C is the covariance of theta, c that of theta with its own term.
    // One piece of memory for both: two are given back to the system after every decision, and to get them again takes a third of its time.
    AlignedDoubles lines_;

    double* off(i64 a) { return lines_.data() + a * known_.dim; }
    double* pulled(i64 a) { return off(table_.n + a); }
    void leave_the_middle();
    void pull(i64 a);
    double square(i64 a, i64 b);
};

}  // namespace duelist
