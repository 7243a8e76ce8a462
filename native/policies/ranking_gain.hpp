// Which comparison settles most of an order.
//
// Two arms whose utilities differ by D, give or take their width W, stand in the wrong order with chance Phi(-|D| / W). A vote
// on a pair shrinks every W^2. What it is worth is the sum, over all pairs, of that chance times the part of W^2 that goes away:
//
//     slope z' M z / (1 + slope z' C z),    M = C (sum of Phi(-|D| / W) / W^2 (x_i - x_j)(x_i - x_j)') C,
//
// where C is the covariance, z the difference of the two arms, and `slope` that of the link between them.
#pragma once

#include "search/arm_effects_view.hpp"
#include "search/pair_search.hpp"

namespace duelist {

// Arms between which all pairs are looked at; of more, an arm's order is looked at among those next to it.
inline constexpr i64 FEW_TO_ORDER = MANY_ARMS - 1;
inline constexpr i64 FEW_FREE_TO_ORDER = 128;

// The pair of different arms that settles most of the order of the first `top` arms, or, with 0, of all; of equal ones the first by
// lots that arms draw by their numbers, which say nothing of where they are listed.
FoundPair best_ranking_pair(Link link, const ArmView& view, i64 top, const ArmTable& table);

// The same for arms with terms of their own.
FoundPair best_ranking_pair(ArmEffectsView& view, Link link, i64 top, const ArmTable& table);

}  // namespace duelist
