// GreedyUniform: the arm of largest estimated utility, and a random one.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class GreedyUniform : public SelectionRule {
public:
    explicit GreedyUniform(const Hyperparameters&) {}

    bool draws() const override { return true; }
    bool supports_arm_effects() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        workspace.fit(table.n, table.dim);
        const double* u = workspace.u.data();
        kernels->whiten(table.features, nullptr, table.n, table.dim, state.theta(0, workspace.solver), nullptr,
                        workspace.u.data(), nullptr, 0);
        i64 first = kernels->argmax(u, table.n);
        if (table.n == 1) return {first, first, 0, 1.0};
        if (!table.excluded) {
            i64 second = state.random.below(table.n - 1);
            return {first, second + (second >= first), 0, 1.0};
        }
        first = -1;
        for (i64 a = 0; a < table.n; a++)
            if ((first < 0 || u[a] > u[first]) && table.has_partner(a)) first = a;
        if (first < 0) return {-1, -1, 0, 0.0};
        i64 position = state.random.below(table.n - 1 - table.excluded->partners_of(first));
        for (i64 second = 0; second < table.n; second++)
            if (second != first && !table.excluded->has(first, second) && position-- == 0)
                return {first, second, 0, 1.0};
        return {-1, -1, 0, 0.0};
    }
};

}  // namespace duelist
