// Valid radii computed from the votes. docs/algorithms/tight-radius.md states the theorem and proves it.
//
// With probability 1 - delta, in all rounds at once, L(theta*) - L(theta) is at most what a Gaussian mixture of
// likelihood ratios allows. Self-concordance turns this into |theta - theta*|_H <= local.
#pragma once

#include "model/policy_state.hpp"

namespace duelist {

struct TightRadius {
    double local;      // in the norm of H, the curvature at the estimate
    double precision;  // in the norm of Sigma, the precision: local * sqrt(largest eigenvalue of H^-1 Sigma)
};

// The radii of a layer. Pending duels do not count. `state.bound` is the bound S on |theta*|.
TightRadius tight_radius(PolicyState& state, i64 layer, double delta, SolverWorkspace& workspace);

// delta / (l (l + 1)) for layer l, counted from 1: the sum over all layers is delta.
inline double delta_of_layer(double delta, i64 number) {
    double l = static_cast<double>(number + 1);
    return delta / (l * (l + 1.0));
}

}  // namespace duelist
