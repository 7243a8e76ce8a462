#include "model/policy_state.hpp"

namespace duelist {

Layer::Layer(i64 dim, double ridge, double prior, double radius, const AlignedDoubles& scale)
    : ridge(ridge),
      prior(prior),
      radius(radius),
      theta(dim),
      factor(dim * dim),
      curvature(dim * dim),
      rows(std::make_shared<AggregatedVotes>(dim)) {
    for (i64 k = 0; k < dim; k++) {
        factor[k * dim + k] = std::sqrt(prior * scale[k]);
        curvature[k * dim + k] = std::sqrt(ridge * scale[k]);
    }
}

namespace {

// Replace R by the factor of R'R + diag(added). Return false and keep R if the sum is not positive definite after
// rounding.
bool add_to_diagonal(AlignedDoubles& factor, i64 dim, const AlignedDoubles& added) {
    AlignedDoubles whole(dim * dim);
    for (i64 i = 0; i < dim; i++)
        for (i64 j = i; j < dim; j++) {
            double total = i == j ? added[i] : 0.0;
            for (i64 k = 0; k <= i; k++) total += factor[k * dim + i] * factor[k * dim + j];
            whole[i * dim + j] = total;
        }
    if (!kernels->cholesky(whole.data(), dim)) return false;
    factor = std::move(whole);
    return true;
}

// Whether row and column k of the factor contain the ridge only.
bool is_alone(const AlignedDoubles& factor, i64 dim, i64 k, double ridge) {
    for (i64 i = 0; i < k; i++)
        if (factor[i * dim + k] != 0.0) return false;
    for (i64 j = k + 1; j < dim; j++)
        if (factor[k * dim + j] != 0.0) return false;
    return factor[k * dim + k] == std::sqrt(ridge);
}

}  // namespace

void PolicyState::observe_arms(const double* arms, i64 n, SolverWorkspace& workspace) {
    AlignedDoubles wanted;
    if (scale.any_unknown() && !has_learned() && scale.scale_unknown(arms, n, dim, wanted)) rescale(wanted, workspace);
}

void PolicyState::use_scale_of_round(const RoundScale& seen, SolverWorkspace& workspace) {
    if (!seen.differs) return;
    scale.accept(seen, dim);
    rescale(seen.squared, workspace);
}

bool PolicyState::has_learned() const {
    return std::any_of(layers.begin(), layers.end(), [](const Layer& at) { return at.learned > 0.0; });
}

void PolicyState::rescale(const AlignedDoubles& squared, SolverWorkspace& workspace) {
    AlignedDoubles before = scale.squared;
    scale.squared = squared;
    if (std::exchange(scale.just_found_atypical, false) && online && has_all_early_votes) {
        for (Layer& at : layers) refit_early_votes(at, workspace);
        return;
    }
    std::vector<Layer> kept = online ? layers : std::vector<Layer>();
    if (rescale_layers(before, workspace)) return;
    // The ridge shrank by more than the precision of the factor, so informed features keep their scale.
    layers = std::move(kept);
    for (i64 k = 0; k < dim; k++) {
        bool is_informed_in_any =
            std::any_of(layers.begin(), layers.end(), [&](const Layer& at) { return is_informed(at, k, before[k]); });
        if (is_informed_in_any) scale.squared[k] = std::max(squared[k], before[k]);
    }
    rescale_layers(before, workspace);
}

// Whether a vote has involved feature k at this scale. The one-pass estimator stores no votes, so its factors are
// examined.
bool PolicyState::is_informed(const Layer& at, i64 k, double size) const {
    if (online)
        return !is_alone(at.factor, dim, k, at.prior * size) || !is_alone(at.curvature, dim, k, at.ridge * size);
    for (i64 row = 0; row < at.rows->count(); row++)
        if (at.rows->entry(row, k) != 0.0) return true;
    return false;
}

bool PolicyState::rescale_layers(const AlignedDoubles& before, SolverWorkspace& workspace) {
    for (i64 number = 0; number < n_layers(); number++) {
        if (!rescale_uninformed(layer(number), before)) continue;
        if (!online)
            rescale_votes(number, workspace);
        else if (!rescale_summary(layer(number), before, workspace))
            return false;
    }
    return true;
}

// Rescale ridge and prior of features that no vote has involved. Return whether other features remain to be rescaled.
bool PolicyState::rescale_uninformed(Layer& at, const AlignedDoubles& before) const {
    bool others = false;
    for (i64 k = 0; k < dim; k++) {
        if (scale.squared[k] == before[k]) continue;
        if (is_informed(at, k, before[k])) {
            others = true;
            continue;
        }
        at.factor[k * dim + k] = std::sqrt(at.prior * scale.squared[k]);
        at.curvature[k * dim + k] = std::sqrt(at.ridge * scale.squared[k]);
        at.stale = at.learned > 0.0;
    }
    return others;
}

// Learn the stored early votes of the one-pass estimator again at the new scale.
void PolicyState::refit_early_votes(Layer& at, SolverWorkspace& workspace) {
    workspace.fit(dim, 0);
    Layer fresh(dim, at.ridge, at.prior, at.radius, scale.squared);
    at.theta = std::move(fresh.theta);
    at.factor = std::move(fresh.factor);
    at.curvature = std::move(fresh.curvature);
    at.residual = 0.0;
    at.stale = at.learned > 0.0;
    AlignedDoubles z(dim);
    for (i64 row = 0; row < at.rows->count(); row++) {
        for (i64 k = 0; k < dim; k++) z[k] = at.rows->entry(row, k);
        add_term(at, {z.data(), at.rows->mass()[row], at.rows->wins()[row]}, workspace);
    }
}

// Add a term to estimate, precision and curvature. An outlier counts for less in the precision, and also in the
// curvature if that cannot be corrected later.
void PolicyState::add_term(Layer& at, const LikelihoodTerm& given, SolverWorkspace& workspace) const {
    double counts = scale.influence(given.z, dim), part = online ? counts : 1.0;
    double mass = part * given.mass, wins = part * given.wins;
    if (online && mass == 0.0) return;  // the outlier's weight has underflowed
    double margin = one_pass_step(at.theta.data(), at.curvature.data(), dim, given.z, mass, wins, link,
                                  online ? UNTIL_CONVERGED : SINGLE_STEP, workspace);
    kernels->cholesky_update_both(at.factor.data(), counts * given.mass, at.curvature.data(),
                                  mass * slope(link, margin), dim, given.z, workspace.step.data(),
                                  workspace.trial.data());
    if (!online) return;
    double p = mean(link, project_into_ball(at.theta.data(), at.curvature.data(), dim, given.z, bound, margin));
    at.residual += wins * (1.0 - p) * (1.0 - p) + (mass - wins) * p * p;
}

// Change the ridge under the quadratic that stands for the outcomes, and keep the quadratic's minimum. Return false if
// rounding makes a factor indefinite.
bool PolicyState::rescale_summary(Layer& at, const AlignedDoubles& before, SolverWorkspace& workspace) {
    workspace.fit(dim, 0);
    AlignedDoubles added(dim);
    auto add = [&](AlignedDoubles& factor, double multiple) {
        for (i64 k = 0; k < dim; k++) {
            bool is_done = is_alone(factor, dim, k, multiple * scale.squared[k]);
            added[k] = is_done ? 0.0 : multiple * (scale.squared[k] - before[k]);
        }
        return add_to_diagonal(factor, dim, added);
    };
    if (!add(at.factor, at.prior)) return false;
    kernels->multiply(at.curvature.data(), dim, at.theta.data(), workspace.step.data());
    if (!add(at.curvature, at.ridge)) return false;
    kernels->solve_lower(at.curvature.data(), dim, workspace.step.data());
    kernels->solve_upper(at.curvature.data(), dim, workspace.step.data());
    std::copy_n(workspace.step.data(), dim, at.theta.data());
    at.stale = at.learned > 0.0;
    return true;
}

void PolicyState::rescale_votes(i64 number, SolverWorkspace& workspace) {
    Layer& at = layer(number);
    GlmProblem p = problem(number);
    workspace.fit(dim, p.n);
    auto factored = [&](const double* weights, double multiple, AlignedDoubles& out) {
        AlignedDoubles whole(dim * dim);
        p.ridge = {multiple, scale.squared.data()};
        if (factor_curvature(p, weights, workspace, whole.data())) out = std::move(whole);
    };
    AlignedDoubles counted(p.n);
    for (i64 s = 0; s < p.n; s++) counted[s] = p.mass[s] * scale.influence(p.z + s, dim, p.stride);
    factored(counted.data(), at.prior, at.factor);
    kernels->margins(p.z, p.stride, dim, at.theta.data(), p.n, workspace.margins.data());
    p.residuals(workspace.margins.data(), workspace.residual.data(), workspace.slopes.data());
    factored(workspace.slopes.data(), at.ridge, at.curvature);
    at.stale = at.learned > 0.0;  // a layer that has learned nothing keeps its initial radius
    if (at.stale) at.fit_status = FitStatus::outdated;
}

UpdateScope PolicyState::learn(i64 number, const PairOutcome& seen, double share, double weight,
                               SolverWorkspace& workspace) {
    workspace.fit(dim, 0);
    LikelihoodTerm given{};
    if (!seen.likelihood_term(dim, share * weight, workspace.shift.data(), given)) return UpdateScope::nothing;
    AlignedDoubles wanted;
    bool other_sizes = scale.observe(given.z, dim, weight, wanted);
    if (other_sizes) rescale(wanted, workspace);
    Layer& at = layer(number);
    bool other_link = online && count_tie(number, given, seen.tie, workspace);
    add_term(at, given, workspace);
    if (!online) at.fit_status = FitStatus::outdated;
    if (!online || (scale.early() && has_all_early_votes)) store_term(at, given);
    if (online && at.rows->count() > FeatureScale::MAX_EARLY_VOTES) has_all_early_votes = false;
    if (online && !(scale.early() && has_all_early_votes)) discard_early_votes();
    at.learned += weight;
    at.last_update = rounds;
    at.stale = true;
    if (!online) other_link = count_tie(number, given, seen.tie, workspace);
    return other_sizes || other_link ? UpdateScope::all_layers : UpdateScope::one_layer;
}

// Count a vote for the parameter of ties; return whether the link has changed. The one-pass estimator does so before it
// learns the vote, the exact one after.
bool PolicyState::count_tie(i64 number, const LikelihoodTerm& given, bool tie, SolverWorkspace& workspace) {
    if (link.kind != Link::Kind::logistic) return false;
    if (online)
        ties.exposure +=
            given.mass * TieParameter::exposure_of(kernels->dot(given.z, layer(number).theta.data(), dim), link.nu);
    if (!ties.count(tie, given.mass)) return false;
    auto summed = [&](double nu) {
        if (online) return ties.exposure;
        double total = 0.0;
        for (i64 each = 0; each < n_layers(); each++) {
            const AggregatedVotes& rows = *layer(each).rows;
            kernels->margins(rows.z(), rows.stride(), dim, layer(each).theta.data(), rows.padded_count(),
                             workspace.margins.data());
            for (i64 s = 0; s < rows.count(); s++)
                total += rows.mass()[s] * TieParameter::exposure_of(workspace.margins[s], nu);
        }
        return total;
    };
    if (!online)
        for (i64 each = 0; each < n_layers(); each++) {
            theta(each, workspace);
            workspace.fit(dim, layer(each).rows->padded_count());
        }
    double before = std::exchange(link.nu, ties.solve(link.nu, summed));
    if (!online)
        for (Layer& each : layers) {
            each.fit_status = each.learned > 0.0 ? FitStatus::outdated : each.fit_status;
            each.stale = each.learned > 0.0;
            each.radius_for = -1.0;
        }
    return link.nu != before;
}

void PolicyState::store_term(Layer& at, const LikelihoodTerm& given) {
    if (at.rows.use_count() > 1) at.rows = std::make_shared<AggregatedVotes>(*at.rows);
    at.rows->add(given.z, given.mass, given.wins);
}

void PolicyState::discard_early_votes() {
    for (Layer& at : layers)
        if (at.rows->count() > 0) at.rows = std::make_shared<AggregatedVotes>(dim);
}

void PolicyState::add_expected(i64 number, const double* difference, double share, SolverWorkspace& workspace) {
    workspace.fit(dim, 0);
    Layer& at = layer(number);
    double expected = share * slope(link, kernels->dot(difference, at.theta.data(), dim));
    kernels->cholesky_update_both(at.factor.data(), share * scale.influence(difference, dim), at.curvature.data(),
                                  expected, dim, difference, workspace.step.data(), workspace.trial.data());
}

const double* PolicyState::theta(i64 number, SolverWorkspace& workspace) {
    Layer& at = layer(number);
    if (at.fit_status == FitStatus::outdated && !online) {
        SolverStatus status = refine(problem(number), at.theta.data(), at.curvature.data(), workspace);
        if (status == SolverStatus::out_of_iterations) {  // the guesses have diverged: restart from the prior
            Layer fresh(dim, at.ridge, at.prior, at.radius, scale.squared);
            at.theta = std::move(fresh.theta);
            at.curvature = std::move(fresh.curvature);
            status = refine(problem(number), at.theta.data(), at.curvature.data(), workspace);
        }
        at.fit_status = status == SolverStatus::out_of_iterations ? FitStatus::unfinished : FitStatus::current;
    }
    return at.theta.data();
}

const double* PolicyState::local_curvature(i64 number, SolverWorkspace& workspace) {
    theta(number, workspace);
    Layer& at = layer(number);
    if (at.stale) {
        at.stale = false;
        if (!online && dim <= MAX_DIRECT_DIM) {
            GlmProblem p = problem(number);
            workspace.fit(dim, p.n);
            kernels->margins(p.z, p.stride, dim, at.theta.data(), p.n, workspace.margins.data());
            if (link == Link::logistic)
                kernels->logistic_model(p.mass, p.wins, workspace.margins.data(), p.n, workspace.residual.data(),
                                        workspace.slopes.data(), workspace.second_order.data());
            else
                p.residuals(workspace.margins.data(), workspace.residual.data(), workspace.slopes.data());
            factor_curvature(p, workspace.slopes.data(), workspace, at.curvature.data());
        }
    }
    return at.curvature.data();
}

double PolicyState::width(i64 number, const double* z, SolverWorkspace& workspace) const {
    workspace.fit(dim, 0);
    double* v = workspace.direction.data();
    for (i64 k = 0; k < dim; k++) v[k] = z[k];
    kernels->solve_lower(layer(number).factor.data(), dim, v);
    return std::sqrt(kernels->dot(v, v, dim));
}

GlmProblem PolicyState::problem(i64 number) const {
    const Layer& at = layer(number);
    const AggregatedVotes& rows = *at.rows;
    return {
        rows.z(), rows.stride(), dim, rows.mass(), rows.wins(), rows.padded_count(), {at.ridge, scale.squared.data()},
        link};
}

}  // namespace duelist
