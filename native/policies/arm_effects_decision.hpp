// Arms with effects, for rules that need no more than utilities and widths.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// From this number of arms on, only the most promising ones are decided about, because the cost grows with the cube.
inline constexpr i64 MAX_INDICATORS = 256;

// Decide round t by a rule for features. The posterior of n utilities is given to it as that of a policy with one
// indicator feature per arm: theta are the means, and the inverse of the precision is the covariance, so a radius that
// depends on the number of features has n of them. The covariance is the inverse of a curvature, in which a vote counts as
// mu' <= L_mu. A rule in the norm of the precision, in which it counts as 1, gets L_mu times the covariance.
Decision decide_by_indicators(const SelectionRule& rule, const ArmEffectsState& known, Sfc64& random, i64 t,
                              const ArmTable& table);

}  // namespace duelist
