// Davidson's parameter nu, estimated from the votes that a policy learns (`links.hpp`).
//
// nu makes the number of ties expected: it solves
//
//     ties + 1/2 = nu (exposure(nu) + 1 / (2 + nu)),    exposure(nu) = sum over votes of W / (2 cosh(v / 2) + nu),
//
// where 1/2 and 1 / (2 + nu) stand for half a tie in one vote on equal arms, and v is the estimated difference of
// utilities. The exact estimator takes v from its present estimate; one-pass estimates add up the exposure of each
// vote as it is learned. nu is estimated again when the votes have grown by a tenth, from the first tie on. Before a
// tie it is 0, and votes without ties are learned as by the logistic link alone.
#pragma once

#include "model/links.hpp"

namespace duelist {

struct TieParameter {
    static constexpr double GROWTH = 1.1, PRIOR_TIES = 0.5, TOLERANCE = 1e-12;
    static constexpr int MAX_STEPS = 200;

    double ties = 0.0, votes = 0.0, exposure = 0.0, next = 0.0;

    static double exposure_of(double margin, double nu) {
        double e = exp_neg_abs(0.5 * margin);
        return e / (1.0 + e * (e + nu));
    }

    // Count a vote of the given mass; return whether nu is to be estimated again.
    bool count(bool tie, double mass) {
        votes += mass;
        if (tie) ties += mass;
        if (!(ties > 0.0) || votes < next) return false;
        next = GROWTH * votes;
        return true;
    }

    // nu, starting at `nu`, given exposure(nu).
    template <class Exposure>
    double solve(double nu, Exposure&& exposure_at) const {
        for (int step = 0; step < MAX_STEPS; step++) {
            double following = (ties + PRIOR_TIES) / (exposure_at(nu) + 1.0 / (2.0 + nu));
            following = std::min(following, Davidson::LARGEST_NU);
            bool is_same = std::fabs(following - nu) <= TOLERANCE * following;
            nu = following;
            if (is_same) break;
        }
        return nu;
    }
};

}  // namespace duelist
