// An observation: a few rows of features and an answer.
//
// Today the rows are the two arms of a duel, and the answer is the share of the win that goes to the first: 1, 0, or
// something between for a tie. This file is the one place that knows how an answer about rows becomes evidence about theta;
// policies hand observations over and never look inside. A choice among k, or a ranking, would be one more answer here
// and one more term in the loss of `estimate.hpp`.
#pragma once

#include "numerics/buffer.hpp"

namespace duelist {

// What an estimator takes in: a direction in which utilities were compared, first nonzero entry positive, and who won.
struct LikelihoodTerm {
    const double* z;
    double mass;
    double wins;
};

// A duel's difference of features, first arm minus second, and its outcome.
struct PairOutcome {
    const double* difference;
    double outcome;

    // The evidence in it, with z in `room` (dim numbers); false if there is none: an arm met its equal.
    bool likelihood_term(i64 dim, double mass, double* buffer, LikelihoodTerm& out) const {
        double sign = 0.0;
        for (i64 k = 0; k < dim && sign == 0.0; k++)
            if (difference[k] != 0.0) sign = difference[k] > 0.0 ? 1.0 : -1.0;
        if (sign == 0.0) return false;
        for (i64 k = 0; k < dim; k++) buffer[k] = sign * difference[k] + 0.0;  // never -0.0: equal rows have equal bits
        out = {buffer, mass, mass * (sign < 0.0 ? 1.0 - outcome : outcome)};
        return true;
    }
};

// The difference of two rows of features.
inline void subtract(const double* first, const double* second, i64 dim, double* out) {
    for (i64 k = 0; k < dim; k++) out[k] = first[k] - second[k];
}

}  // namespace duelist
