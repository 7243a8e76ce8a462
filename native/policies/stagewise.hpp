// What Sta'D and SupCoLSTIM share: layers with unit weights and a stretched width p = eta |x - y|.
#pragma once

#include "policies/layer_walk.hpp"
#include "policies/radius_settings.hpp"

namespace duelist {

class Stagewise : public Rule {
public:
    explicit Stagewise(const Settings& s) : radius_(s) {}

    i64 layers_in(i64 t) const override {
        double horizon = std::max(effective_horizon(radius_.horizon, std::max<i64>(t, 1)), 2.0);
        return layers_for(1.0 / std::sqrt(horizon));
    }

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        scratch.fit(table.n, table.dim);
        double eta = stretch(state, table.n);
        double finest = 1.0 / std::sqrt(radius_.horizon_in(state));
        i64 last = state.n_layers() - 1;
        Walk walk = start_walk(scratch, table, eta);
        const i64* remaining = scratch.remaining.data();
        while (true) {
            View view = look_at(state, scratch, table, walk.layer, remaining, walk.count);
            FoundPair wide = widest_of(view, table.limits(remaining), scratch);
            double p = eta * std::sqrt(wide.value), threshold = power_of_two(-(walk.layer + 1));
            bool exploit = p <= finest || (walk.layer == last && !(p > threshold));
            if (p > threshold && !exploit) return {remaining[wide.first], remaining[wide.second], walk.layer, 1.0};
            add_utilities_of(state, scratch, table, walk.layer, remaining, view);
            if (exploit) return settled(state, scratch, table, walk, view, eta);
            go_deeper(walk, scratch, view.u, threshold);
        }
    }

    // The first layer in which eta |z| > 2^-s, with eta for the two arms of the duel.
    Place place(State& state, const double* z, Scratch& scratch) const override {
        double eta = stretch(state, 2);
        for (i64 layer = 0; layer < state.n_layers(); layer++)
            if (eta * state.width(layer, z, scratch.solver) > power_of_two(-(layer + 1))) return {layer, 1.0};
        return {-1, 0.0};
    }

protected:
    // What the first of the last two arms is chosen by.
    virtual const double* scores(State& state, Scratch& scratch, const Table& table, const View& view) const = 0;

    RadiusSettings radius_;

private:
    // eta of the present round.
    double stretch(const State& state, i64 n_arms) const {
        double horizon = radius_.horizon_in(state);
        if (radius_.kind == RadiusKind::theory)
            return radius_.factor * stagewise_radius(n_arms, horizon, state.kappa, radius_.delta);
        if (radius_.kind == RadiusKind::shape) return radius_.factor * practical_radius(1, horizon);
        return radius_.factor;
    }

    static FoundPair widest_of(const View& view, const Limits& limits, Scratch& scratch) {
        Limits of_different{false, limits.out, limits.names};
        return widest_pair(view, of_different, scratch);
    }

    // All p are small: the last duel, from which nothing is learned. Both arms come from the remaining ones; where no pair of them
    // may be asked, the second from all arms; else both from all.
    Decision settled(State& state, Scratch& scratch, const Table& table, const Walk& walk, const View& view,
                     double eta) const {
        const i64* remaining = scratch.remaining.data();
        Listed few{remaining, walk.count}, everyone{nullptr, table.n};
        if (open(table, few, few)) {
            i64 first = best_first(scores(state, scratch, table, view), few, table, few);
            i64 second = challenger(view, first, eta, table.limits(remaining), scratch);
            return {remaining[first], remaining[second], -1, 0.0};
        }
        if (!open(table, everyone, everyone)) return {-1, -1, -1, 0.0};
        bool from_few = open(table, few, everyone);
        i64 first = -1;
        if (from_few) first = remaining[best_first(scores(state, scratch, table, view), few, table, everyone)];
        scratch.memo.forget();  // `remaining` is kept no longer
        View all = look_at(state, scratch, table, walk.layer, nullptr, table.n);
        add_utilities_of(state, scratch, table, walk.layer, nullptr, all);
        if (!from_few) first = best_first(scores(state, scratch, table, all), everyone, table, everyone);
        return {first, challenger(all, first, eta, table.limits(), scratch), -1, 0.0};
    }

    // Whether some of the first arms may meet some of the second ones.
    static bool open(const Table& table, const Listed& firsts, const Listed& seconds) {
        for (i64 a = 0; a < firsts.n; a++)
            if (may_meet(table, firsts.name(a), seconds)) return true;
        return false;
    }
};

}  // namespace duelist
