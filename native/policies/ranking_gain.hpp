// The comparison with the largest expected gain for a ranking.
//
// Two arms whose utilities differ by D with a width of W are in the wrong order with probability Phi(-|D| / W). A vote
// on a pair reduces every W^2. Its gain is the sum over all pairs of that probability times the relative reduction of
// W^2:
//
//     slope z' M z / (1 + slope z' C z),    M = C (sum of Phi(-|D| / W) / W^2 (x_i - x_j)(x_i - x_j)') C,
//
// where C is the covariance, z the difference of the two arms, and `slope` the slope of the link between them.
#pragma once

#include "search/arm_effects_view.hpp"
#include "search/pair_search.hpp"

namespace duelist {

// Up to this number of arms all pairs are considered; beyond it, mostly pairs of neighbors in the order.
inline constexpr i64 MAX_ALL_PAIRS = MANY_ARMS - 1;
inline constexpr i64 MAX_ALL_PAIRS_WITH_EFFECTS = 128;

// The pair of different arms with the largest gain for the order of the first `top` ranks (0: all ranks). Ties are
// broken by a hash of arm ids, so that the order of the list does not matter.
FoundPair best_ranking_pair(Link link, const ArmView& view, i64 top, const ArmTable& table);

// The same with arm effects.
FoundPair best_ranking_pair(ArmEffectsView& view, Link link, i64 top, const ArmTable& table);

}  // namespace duelist
