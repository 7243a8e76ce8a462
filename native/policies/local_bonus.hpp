// The best pair with a bonus that shrinks as the pair becomes known.
//
// The value of a pair of width w whose utilities differ by D is
//
//     u_i + u_j + w sqrt(stretch (mu'(D) / mu'(0))^(1/5) (L - log(1 + L))),    L = log(1 + N mu'(D) w^2),
//
// where 1 / (mu' w^2) is the number of comparisons of the pair that would give the present information about it. So L
// is the logarithm of the rounds N per comparison made so far. The bonus grows with w and is at most that of the
// largest slope and width, which shows which pairs need the logarithms at all.
#pragma once

#include "model/links.hpp"
#include "search/pair_search.hpp"

namespace duelist {

struct LocalBonus {
    Link link;
    double stretch, horizon;

    // The bonus of a pair divided by its width, given its squared width and the gap of its utilities.
    double radius(double square, double gap) const;

    // own + u_j + bonus for the pairs of an arm.
    void values(double own, const double* u, const double* squares, double* out, i64 n) const;
};

// argmax of the value over allowed i <= j; ties go to the first. From MANY_ARMS arms on, the best of some good pairs.
FoundPair best_local_pair(const ArmView& view, const LocalBonus& bonus, const PairConstraints& constraints,
                          Workspace& workspace);

}  // namespace duelist
