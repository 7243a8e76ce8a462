// Confidence bounds on the utilities of single arms, for the rules of ActiveUltraFeedback: u_a -+ scale |x_a - mean
// arm|_{H^-1}.
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

// The spreads are stored in workspace.reach. Utilities are defined up to a constant, which is fixed at the mean arm.
inline ArmBounds bounds_of_arms(PolicyState& state, Workspace& workspace, const ArmTable& table, double scale) {
    ArmView view = whiten_all(state, workspace, table, true);
    double *center = workspace.noise.data(), *spread = workspace.reach.data();
    for (i64 k = 0; k < view.dim; k++) {
        const double* row = view.v + k * view.stride;
        double off = 0.0;  // relative to the first arm, so that equal arms have a spread of exactly zero
        for (i64 a = 0; a < view.n; a++) off += row[a] - row[0];
        center[k] = row[0] + off / static_cast<double>(view.n);
    }
    kernels->squared_distances(view.v, view.stride, view.dim, center, view.n, spread);
    for (i64 a = 0; a < view.n; a++) spread[a] = scale * std::sqrt(spread[a]);
    return {view.u, spread, view.n};
}

}  // namespace duelist
