// DRTS (Melikidze et al. 2026), double reverse Thompson sampling: the best arm of one draw and the worst of another.
#pragma once

#include "policies/arm_bounds.hpp"

namespace duelist {

class DRTS : public SelectionRule {
public:
    explicit DRTS(const Hyperparameters& s) : scale_(s.number("scale")) {}

    bool local() const override { return true; }
    bool reacts_to_pending() const override { return false; }
    bool draws() const override { return true; }
    bool supports_arm_effects() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (table.n == 1) return {0, 0, 0, 1.0};
        ArmBounds arms = bounds_of_arms(state, workspace, table, scale_);
        double* drawn = workspace.line.data();
        draw(state.random, arms, 1.0, drawn);
        i64 first = -1;
        for (i64 a = 0; a < table.n; a++)
            if ((first < 0 || drawn[a] > drawn[first]) && table.has_partner(a)) first = a;
        if (first < 0) return {-1, -1, 0, 0.0};
        for (int tried = 0; tried < TRIES; tried++) {
            draw(state.random, arms, -1.0, drawn);
            i64 second = kernels->argmax(drawn, table.n);
            if (may_duel(table, first, second)) return {first, second, 0, 1.0};
        }
        return {first, any_partner(state.random, table, first), 0, 1.0};
    }

private:
    static constexpr int TRIES = 30;  // max_iterations in the authors' code
    double scale_;

    // sign u_a + zeta_a s_a with zeta_a uniform on [-1, 1], independent for each arm.
    static void draw(Sfc64& random, const ArmBounds& arms, double sign, double* out) {
        for (i64 a = 0; a < arms.n; a++) out[a] = sign * arms.u[a] + (2.0 * random.uniform() - 1.0) * arms.spread[a];
    }

    static bool may_duel(const ArmTable& table, i64 i, i64 j) { return i != j && table.constraints().allows(i, j); }

    static i64 any_partner(Sfc64& random, const ArmTable& table, i64 first) {
        i64 position = random.below(table.n - 1 - (table.excluded ? table.excluded->partners_of(first) : 0));
        for (i64 a = 0; a < table.n; a++)
            if (may_duel(table, first, a) && position-- == 0) return a;
        return -1;
    }
};

}  // namespace duelist
