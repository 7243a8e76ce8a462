// How the outcome of a comparison becomes a term of the likelihood. This is the only place that knows; policies pass
// outcomes on. A choice among k arms, or a ranking, would be another type here and another term in the loss of
// `solvers.hpp`.
#pragma once

#include "numerics/buffer.hpp"

namespace duelist {

// A term of the log-likelihood: the difference z, with its first nonzero entry positive, and `wins` out of `mass`.
struct LikelihoodTerm {
    const double* z;
    double mass;
    double wins;
};

// The features of the first arm minus those of the second, and the share of the win that went to the first.
struct PairOutcome {
    const double* difference;
    double outcome;
    bool tie = false;  // an outcome of 1/2 may also be the share of a win

    // Set `out` to the term, whose z is stored in `buffer` (dim numbers). Return false if the arms have equal features.
    bool likelihood_term(i64 dim, double mass, double* buffer, LikelihoodTerm& out) const {
        double sign = 0.0;
        for (i64 k = 0; k < dim && sign == 0.0; k++)
            if (difference[k] != 0.0) sign = difference[k] > 0.0 ? 1.0 : -1.0;
        if (sign == 0.0) return false;
        // + 0.0 turns -0.0 into 0.0, so that equal rows have equal bits
        for (i64 k = 0; k < dim; k++) buffer[k] = sign * difference[k] + 0.0;
        out = {buffer, mass, mass * (sign < 0.0 ? 1.0 - outcome : outcome)};
        return true;
    }
};

// out = first - second
inline void subtract(const double* first, const double* second, i64 dim, double* out) {
    for (i64 k = 0; k < dim; k++) out[k] = first[k] - second[k];
}

}  // namespace duelist
