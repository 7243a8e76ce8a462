// VACDB (Di, Jin, Wu, Zhao, Farnoud, Gu, ICLR 2024), Algorithm 1. Line numbers are those of the paper.
#pragma once

#include "policies/confidence_radius.hpp"
#include "policies/layer_walk.hpp"
#include "policies/tight_radius.hpp"

namespace duelist {

class VACDB : public SelectionRule {
public:
    explicit VACDB(const Hyperparameters& s)
        : horizon_(s.whole("horizon")),
          alpha_(s.number("alpha")),
          delta_(s.number("delta")),
          scale_(s.number("scale")),
          constant_(s.number("constant")),
          tight_(s.flag("tight")),
          explore_(static_cast<Explore>(s.whole("explore"))),
          variance_everywhere_(s.flag("variance_everywhere")),
          first_layer_(s.whole("first_layer")) {
        if (std::abs(first_layer_) > MAX_LAYERS) throw std::invalid_argument("first_layer is invalid.");
    }

    bool draws() const override { return explore_ == Explore::random; }

    // The number of layers that alpha requires.
    i64 layers_in_round(i64 t) const override {
        return std::max<i64>(1, layers_for(finest_width(std::max<i64>(t, 1))) + 1 - first_layer_);
    }

    // Line 2: Sigma_l = 4^-l I, theta_l = 0, beta_l = 2^-l (1 + 1/kappa).
    void add_layer(PolicyState& state) const override {
        double small = width_in(state.n_layers());
        double first = small * (tight_ ? state.bound : 1.0 + 1.0 / state.kappa);
        double radius = constant_ > 0.0 ? constant_ : scale_ * first;
        state.add_layer(small * small * state.base_ridge, small * small * state.base_prior, radius);
    }

    // Lines 5-18: walk down the layers until a pair is chosen.
    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double alpha = finest_width(state.rounds);
        if (workspace.cache.hit(table, alpha)) return workspace.cache.last;
        workspace.fit(table.n, table.dim);
        i64 last = state.n_layers() - 1;
        LayerWalk walk = start_walk(workspace, table, 1.0);
        const i64* remaining = workspace.remaining.data();
        while (true) {
            PairConstraints constraints = table.constraints(remaining);
            PairConstraints different{false, table.excluded, remaining};
            double threshold = width_in(walk.layer);
            ArmView view = whiten_subset(state, workspace, table, walk.layer, remaining, walk.count);
            bool exploit = threshold < alpha && !any_wider(view, alpha, different, workspace);
            if (!exploit) {
                FoundPair wide = pair_to_explore(state, workspace, table, walk, view, different);
                if (wide.first >= 0) {  // lines 13-16: explore, w = 2^-l / |x - y|
                    double square = view.squared_width(wide.second, wide.first);
                    return {remaining[wide.first], remaining[wide.second], walk.layer, threshold * threshold / square};
                }
                // 2^-L <= alpha up to rounding, so the last layer must exploit.
                exploit = walk.layer == last || !any_wider(view, alpha, different, workspace);
            }
            double beta = radius_of(state, workspace, walk.layer);
            add_utilities_of(state, workspace, table, walk.layer, remaining, view);
            if (exploit) return final_duel(state, workspace, table, walk, view, constraints, beta);  // lines 7-9
            descend(walk, workspace, view.u, threshold * beta);  // lines 10-12: eliminate
        }
    }

    // The first layer in which the difference is wider than 2^-l, and w^2 there.
    LayerAssignment assign_layer(PolicyState& state, const double* z, Workspace& workspace) const override {
        for (i64 layer = 0; layer < state.n_layers(); layer++) {
            double threshold = width_in(layer), width = state.width(layer, z, workspace.solver);
            if (width > threshold) return {layer, (threshold / width) * (threshold / width)};
        }
        return {-1, 0.0};
    }

    void prepare(PolicyState& state, Workspace& workspace) const override {
        for (i64 layer = 0; layer < state.n_layers(); layer++) radius_of(state, workspace, layer);
    }

    // Lines 20 and 21, evaluated on demand: the radius of a layer after its data changed.
    double radius_of(PolicyState& state, Workspace& workspace, i64 number) const {
        const double* theta = state.theta(number, workspace.solver);
        Layer& layer = state.layer(number);
        if (!layer.stale) return layer.radius;
        layer.stale = false;
        if (constant_ > 0.0) return layer.radius;
        if (tight_) {
            double delta = delta_of_layer(delta_, number);
            return layer.radius = scale_ * tight_radius(state, number, delta, workspace.solver).precision;
        }
        i64 t = layer.last_update + 1;  // the update of round s defines the radius of round s + 1
        i64 layers = layers_for(finest_width(t)) + 1 - first_layer_, l = number + first_layer_;
        double variance = layer.learned;
        if (variance_everywhere_ ||
            variance_is_estimated(l, state.kappa, max_slope(Link{state.link.kind}), t, layers, delta_)) {
            GlmProblem problem = state.problem(number);
            workspace.solver.fit(state.dim, problem.n);
            variance = state.online ? layer.residual : residual_sum(problem, theta, workspace.solver.margins.data());
        }
        layer.radius = scale_ * variance_aware_radius(l, variance, state.kappa, t, layers, delta_);
        return layer.radius;
    }

private:
    enum class Explore : int { value, widest, random };

    i64 horizon_;
    double alpha_;  // 0: T^(-3/2)
    double delta_, scale_;
    double constant_;  // if positive, replaces the variance-aware radius
    bool tight_;       // whether the tight radius replaces it
    Explore explore_;
    bool variance_everywhere_;
    i64 first_layer_;

    double finest_width(i64 t) const {
        if (alpha_ > 0.0) return alpha_;
        double horizon = effective_horizon(horizon_, t);
        return 1.0 / (horizon * std::sqrt(horizon));
    }

    // 2^-l, the threshold on widths in a layer. Layers are numbered from 0 here and from first_layer in the paper.
    double width_in(i64 layer) const { return power_of_two(-(layer + first_layer_)); }

    // Line 14, which the paper leaves open: a pair of remaining arms wider than 2^-l.
    FoundPair pair_to_explore(PolicyState& state, Workspace& workspace, const ArmTable& table, const LayerWalk& walk,
                              ArmView& view, const PairConstraints& constraints) const {
        double threshold = width_in(walk.layer);
        if (explore_ == Explore::value) {
            add_utilities_of(state, workspace, table, walk.layer, workspace.remaining.data(), view);
            return best_wide_pair(view, threshold, constraints, workspace);
        }
        if (explore_ == Explore::random) return random_wide_pair(view, threshold, constraints, state.random, workspace);
        FoundPair widest = widest_pair(view, constraints, workspace);
        return widest.value > threshold * threshold ? widest : NO_PAIR;
    }

    // Lines 7-9: the best pair, whose outcome is not learned.
    Decision final_duel(PolicyState& state, Workspace& workspace, const ArmTable& table, const LayerWalk& walk,
                        const ArmView& view, const PairConstraints& constraints, double beta) const {
        const i64* remaining = workspace.remaining.data();
        FoundPair pair = best_pair(view, beta, constraints, workspace);
        if (pair.first >= 0) return workspace.cache.store({remaining[pair.first], remaining[pair.second], -1, 0.0});
        // No pair of remaining arms is allowed, so one of them is paired with another arm, or else any two arms.
        std::vector<bool> inside = membership({remaining, walk.count}, table.n);
        workspace.cache.clear();
        ArmView all_arms = whiten_subset(state, workspace, table, walk.layer, nullptr, table.n);
        add_utilities_of(state, workspace, table, walk.layer, nullptr, all_arms);
        auto value = [&](i64 i, i64 j, double square) {
            return (all_arms.u[i] + all_arms.u[j]) + beta * std::sqrt(square);
        };
        pair = best_pair_with(all_arms, inside, table.constraints(), workspace, value);
        if (pair.first < 0) pair = best_pair(all_arms, beta, table.constraints(), workspace);
        return {pair.first, pair.second, -1, 0.0};
    }
};

}  // namespace duelist
