// The state of a policy: estimators in layers, a random generator, and counters. Python holds it as an opaque object.
//
// A policy without layers has one estimator. Each estimator has the upper factor R of its precision Sigma = R'R, its
// estimate theta, the upper factor of the curvature H at which theta was found (`incremental_fit.hpp`), and its data.
// The one-pass estimator keeps its data only for the first few votes.
#pragma once

#include <memory>
#include <vector>

#include "model/aggregated_votes.hpp"
#include "model/comparison.hpp"
#include "model/feature_scale.hpp"
#include "model/incremental_fit.hpp"
#include "model/tie_parameter.hpp"

namespace duelist {

inline constexpr i64 MAX_ROUNDS = i64{1} << 53;  // doubles count exactly up to here

// Unfinished: the solver stopped early and continues after the next outcome.
enum class FitStatus : i64 { current, outdated, unfinished };

// All layers: the feature scale or the link has changed.
enum class UpdateScope { nothing, one_layer, all_layers };

struct Layer {
    double ridge = 1.0;        // of the estimate, as a multiple of the squared scale of each feature
    double prior = 1.0;        // precision before the first outcome, as such a multiple
    double radius = 0.0;       // of policies whose radius depends on the estimate
    double learned = 0.0;      // total weight of the outcomes learned
    double radius_for = -1.0;  // the value of `learned` for which a tight radius was computed
    double residual = 0.0;     // sum of w^2 (o - mu)^2 as the one-pass estimator predicted it
    FitStatus fit_status = FitStatus::current;
    bool stale = false;   // whether outcomes were learned since the radius, or the local curvature, was computed
    i64 last_update = 0;  // round of the last update
    AlignedDoubles theta, factor, curvature;
    std::shared_ptr<AggregatedVotes> rows;  // copies of a state share the data until one of them learns

    Layer(i64 dim, double ridge, double prior, double radius, const AlignedDoubles& scale);
};

struct PolicyState {
    i64 dim;
    Link link;  // of the logistic link, ties set the parameter nu
    bool online;
    Sfc64 random;
    i64 rounds = 0;                             // duels decided
    double kappa = 1.0;                         // smallest slope of the link
    double units = 1.0;                         // squared scale of a feature, by which practical priors are multiplied
    double bound = INF;                         // on |theta|, for the one-pass estimator
    double base_ridge = 1.0, base_prior = 1.0;  // of every layer, to be multiplied by a factor per layer
    bool has_all_early_votes = true;            // whether the one-pass estimator has stored all its votes
    FeatureScale scale;
    TieParameter ties;
    std::vector<Layer> layers;

    PolicyState(i64 dim, Link link, bool online) : dim(dim), link(link), online(online), scale(dim) {}

    i64 n_layers() const { return static_cast<i64>(layers.size()); }
    Layer& layer(i64 number) { return layers[static_cast<std::size_t>(number)]; }
    const Layer& layer(i64 number) const { return layers[static_cast<std::size_t>(number)]; }
    void add_layer(double ridge, double prior, double radius) {
        layers.emplace_back(dim, ridge, prior, radius, scale.squared);
    }

    // Learn an outcome in one layer. `share` is the weight w^2 of the policy, `weight` that of the caller. A duel
    // between equal arms changes nothing.
    UpdateScope learn(i64 layer, const PairOutcome& seen, double share, double weight, SolverWorkspace& workspace);

    // Account for a pending duel in precision and curvature, as if its outcome were the expected one.
    void add_expected(i64 layer, const double* difference, double share, SolverWorkspace& workspace);

    // The estimate of a layer, solved first if outdated.
    const double* theta(i64 layer, SolverWorkspace& workspace);

    // The upper factor of the curvature at the present estimate, recomputed if outdated.
    //
    // The one-pass estimator returns the one it updates. So does the exact estimator above MAX_DIRECT_DIM dimensions,
    // where factoring takes too long for one round; each rank-one update then has the slope of the round that added it.
    const double* local_curvature(i64 layer, SolverWorkspace& workspace);

    // Use the arms of a round to scale features that have no scale yet. Has no effect once votes were learned.
    void observe_arms(const double* arms, i64 n, SolverWorkspace& workspace);

    // Use the scale of these arms if it differs. Only for a copy that decides one round, because the state depends on
    // votes alone.
    void use_scale_of_round(const RoundScale& seen, SolverWorkspace& workspace);

    // Change the feature scale. Ridge and prior follow, and everything that depends on them is computed again.
    void rescale(const AlignedDoubles& squared, SolverWorkspace& workspace);

    double width(i64 layer, const double* z, SolverWorkspace& workspace) const;
    GlmProblem problem(i64 layer) const;

    bool has_learned() const;

private:
    void refit_early_votes(Layer& at, SolverWorkspace& workspace);
    void add_term(Layer& at, const LikelihoodTerm& given, SolverWorkspace& workspace) const;
    void store_term(Layer& at, const LikelihoodTerm& given);
    void discard_early_votes();
    bool count_tie(i64 layer, const LikelihoodTerm& given, bool tie, SolverWorkspace& workspace);
    bool is_informed(const Layer& at, i64 k, double size) const;
    bool rescale_uninformed(Layer& at, const AlignedDoubles& before) const;
    bool rescale_layers(const AlignedDoubles& before, SolverWorkspace& workspace);
    bool rescale_summary(Layer& at, const AlignedDoubles& before, SolverWorkspace& workspace);
    void rescale_votes(i64 layer, SolverWorkspace& workspace);
};

}  // namespace duelist
