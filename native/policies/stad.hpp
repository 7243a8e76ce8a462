// Sta'D (Saha 2021): stagewise elimination, then the best arm and its challenger.
#pragma once

#include "policies/stagewise.hpp"

namespace duelist {

class StaD : public Stagewise {
public:
    using Stagewise::Stagewise;

protected:
    const double* scores(PolicyState&, Workspace&, const ArmTable&, const ArmView& view) const override {
        return view.u;
    }
};

}  // namespace duelist
