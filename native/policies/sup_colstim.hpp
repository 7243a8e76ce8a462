// SupCoLSTIM (Bengs, Saha, Huellermeier 2022): the layers of Sta'D, with the randomized pair of CoLSTIM at the end.
#pragma once

#include "policies/perturbation.hpp"
#include "policies/stagewise.hpp"

namespace duelist {

class SupCoLSTIM : public Stagewise {
public:
    using Stagewise::Stagewise;

    bool draws() const override { return true; }

protected:
    const double* scores(PolicyState& state, Workspace& workspace, const ArmTable& table,
                         const ArmView& view) const override {
        double horizon = radius_.horizon_in(state);
        Perturbation noise{Perturbation::coin_chance(table.dim, horizon, state.rounds),
                           practical_radius(table.dim, horizon)};
        return noise.perturbed(state, view, workspace);
    }
};

}  // namespace duelist
