// The arms of a round under a posterior with arm effects: utilities, variances and covariances.
#pragma once

#include "model/arm_effects.hpp"
#include "search/arm_table.hpp"

namespace duelist {

// Duels do not determine the level of utilities, so all utilities are relative to an arm with the median of every
// feature. Otherwise widths would be small differences of large numbers where features are far from zero (a year, a
// timestamp).
class ArmEffectsView {
public:
    ArmEffectsView(const ArmEffectsState& state, const ArmTable& table);

    i64 n() const { return table_.n; }
    const double* u() const { return utility_.data(); }
    // The utility of the reference arm, which has the median of every feature.
    double level() const { return kernels->dot(center_.data(), state_.theta.data(), state_.dim); }
    const double* variance() const { return variance_.data(); }
    // Covariances of an arm with the others.
    void covariances(i64 arm, const ArmSubset& others, double* out);
    // Squared widths of the pairs of an arm with the others. They are computed from feature differences, because
    // variances of arms far from the median would cancel.
    void squared_widths(i64 arm, const ArmSubset& others, double* out);

    // Positions of the `count` largest scores, in ascending order; ties go to the first.
    static std::vector<i64> largest(const double* scores, i64 n, i64 count);
    // The arm of largest utility that has an allowed partner, perhaps itself; ties go to the first. -1 if there is
    // none.
    i64 leader(const PairConstraints& constraints) const;

private:
    const ArmEffectsState& state_;
    const ArmTable& table_;
    std::vector<i64> slot_;
    AlignedDoubles utility_, variance_, effect_variance_, combined_, center_, difference_, transformed_difference_;
    // First the centered features x of every arm, then C x + 2 c of every arm, where C is the covariance of theta and c
    // that of theta with the arm's effect. One allocation holds both, because two would be returned to the system after
    // every decision, and mapping them again takes a third of the time.
    AlignedDoubles features_;

    double* centered(i64 a) { return features_.data() + a * state_.dim; }
    double* transformed(i64 a) { return centered(table_.n + a); }
    void center();
    void transform(i64 a);
    double squared_width(i64 a, i64 b);
};

}  // namespace duelist
