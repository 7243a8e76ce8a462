// Bounds on the utility of each arm by itself, which the rules of ActiveUltraFeedback look at: u_a -+ scale |x_a - mean arm|_{H^-1}.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

struct ArmBounds {
    const double* u;
    const double* spread;
    i64 n;

    double high(i64 a) const { return u[a] + spread[a]; }
    double low(i64 a) const { return u[a] - spread[a]; }
};

// The spreads lie in scratch.reach. Utilities are known up to a constant only; the mean arm is where it is taken to be known.
inline ArmBounds bounds_of_arms(PolicyState& state, Workspace& workspace, const ArmTable& table, double scale) {
    ArmView view = whiten_all(state, workspace, table, true);
    double *centre = workspace.noise.data(), *spread = workspace.reach.data();
    for (i64 k = 0; k < view.dim; k++) {
        const double* row = view.v + k * view.stride;
        double off = 0.0;  // from the first arm, so that equal arms have a spread of exactly zero
        for (i64 a = 0; a < view.n; a++) off += row[a] - row[0];
        centre[k] = row[0] + off / static_cast<double>(view.n);
    }
    kernels->squared_distances(view.v, view.stride, view.dim, centre, view.n, spread);
    for (i64 a = 0; a < view.n; a++) spread[a] = scale * std::sqrt(spread[a]);
    return {view.u, spread, view.n};
}

}  // namespace duelist
