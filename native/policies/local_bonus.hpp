// The best pair when the bonus of a pair shrinks as it becomes known.
//
// A pair of width w whose utilities differ by D is worth
//
//     u_i + u_j + w sqrt(stretch (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),    L = log(1 + N mu'(D) w^2),
//
// where 1 / (mu' w^2) is the number of comparisons of that pair that would teach as much as is known about it, so L is the
// logarithm of the rounds N per comparison already made. The bonus grows with w and is at most the one with the largest
// slope and the largest width; that bound says which pairs need the logarithms at all.
#pragma once

#include "model/links.hpp"
#include "search/pair_search.hpp"

namespace duelist {

struct LocalBonus {
    Link link;
    double stretch, horizon;

    // The bonus of a pair of squared width `square` whose utilities differ by `gap`, divided by its width.
    double radius(double square, double gap) const;

    // own + u_j + bonus, for pairs of one arm.
    void worths(double own, const double* u, const double* squares, double* out, i64 n) const;
};

// argmax over allowed i <= j of the worth of a pair; equal ones: the first. From MANY_ARMS arms on, the best of some good pairs.
FoundPair best_local_pair(const ArmView& view, const LocalBonus& bonus, const PairConstraints& constraints,
                          Workspace& workspace);

}  // namespace duelist
