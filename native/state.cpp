#include "state.hpp"

namespace duelist {

Layer::Layer(i64 dim, double ridge, double prior, double radius, const Numbers& sizes)
    : ridge(ridge), prior(prior), radius(radius), theta(dim), factor(dim * dim), curvature(dim * dim),
      rows(std::make_shared<Rows>(dim)) {
    for (i64 k = 0; k < dim; k++) {
        factor[k * dim + k] = std::sqrt(prior * sizes[k]);
        curvature[k * dim + k] = std::sqrt(ridge * sizes[k]);
    }
}

namespace {

// R'R + diag(added), factored, in the place of R; false, and R as it was, where rounding has left nothing to factor.
bool add_to_diagonal(Numbers& factor, i64 dim, const Numbers& added) {
    Numbers whole(dim * dim);
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

}  // namespace

void State::meet(const double* arms, i64 n, SolverRoom& room) {
    if (!sizes.any_unknown()) return;
    for (const Layer& at : layers)
        if (at.learned > 0.0) return;
    Numbers wanted;
    if (sizes.meet(arms, n, dim, wanted)) resize(wanted, room);
}

void State::resize(const Numbers& squared, SolverRoom& room) {
    Numbers before = sizes.squared;
    sizes.squared = squared;
    for (i64 number = 0; number < n_layers(); number++)
        online ? resize_summary(layer(number), before, room) : resize_rows(number, room);
}

// The quadratic that stands for the outcomes keeps its minimum; only the ridge under it changes.
void State::resize_summary(Layer& at, const Numbers& before, SolverRoom& room) {
    room.fit(dim, 0);
    Numbers added(dim);
    auto add = [&](Numbers& factor, double multiple) {
        for (i64 k = 0; k < dim; k++) added[k] = multiple * (sizes.squared[k] - before[k]);
        return add_to_diagonal(factor, dim, added);
    };
    add(at.factor, at.prior);
    kernels->multiply(at.curvature.data(), dim, at.theta.data(), room.step.data());
    if (add(at.curvature, at.ridge)) {
        kernels->solve_lower(at.curvature.data(), dim, room.step.data());
        kernels->solve_upper(at.curvature.data(), dim, room.step.data());
        std::copy_n(room.step.data(), dim, at.theta.data());
    }
    at.stale = at.learned > 0.0;
}

void State::resize_rows(i64 number, SolverRoom& room) {
    Layer& at = layer(number);
    Problem p = problem(number);
    room.fit(dim, p.n);
    auto factored = [&](const double* weights, double multiple, Numbers& out) {
        Numbers whole(dim * dim);
        kernels->fill_curvature(p.z, p.stride, dim, weights, p.n, {multiple, sizes.squared.data()}, room.weighted.data(),
                                whole.data());
        if (kernels->cholesky(whole.data(), dim)) out = std::move(whole);
    };
    factored(p.mass, at.prior, at.factor);
    kernels->margins(p.z, p.stride, dim, at.theta.data(), p.n, room.margins.data());
    p.residuals(room.margins.data(), room.residual.data(), room.slopes.data());
    factored(room.slopes.data(), at.ridge, at.curvature);
    at.stale = at.learned > 0.0;  // what has learned nothing keeps the radius it was given
    if (at.stale) at.solved = Solved::outdated;
}

Learned State::learn(i64 number, const Observation& seen, double share, double weight, SolverRoom& room) {
    room.fit(dim, 0);
    Evidence given{};
    if (!seen.evidence(dim, share * weight, room.shift.data(), given)) return Learned::nothing;
    Numbers wanted;
    bool other_sizes = sizes.notice(given.z, dim, weight, wanted);
    if (other_sizes) resize(wanted, room);
    Layer& at = layer(number);
    double margin = move_with(at.theta.data(), at.curvature.data(), dim, given.z, given.mass, given.wins, link,
                              online ? TO_ROUNDING : GUESS, room);
    kernels->cholesky_update_both(at.factor.data(), given.mass, at.curvature.data(), given.mass * slope(link, margin), dim,
                                  given.z, room.step.data(), room.trial.data());
    if (online) {
        double p = mean(link, keep_within(at.theta.data(), at.curvature.data(), dim, given.z, bound, margin));
        at.residual += given.wins * (1.0 - p) * (1.0 - p) + (given.mass - given.wins) * p * p;
    } else {
        if (at.rows.use_count() > 1) at.rows = std::make_shared<Rows>(*at.rows);
        at.rows->add(given.z, given.mass, given.wins);
        at.solved = Solved::outdated;
    }
    at.learned += weight;
    at.stamp = rounds;
    at.stale = true;
    return other_sizes ? Learned::in_all_layers : Learned::in_its_layer;
}

void State::expect(i64 number, const double* difference, double share, SolverRoom& room) {
    room.fit(dim, 0);
    Layer& at = layer(number);
    double expected = share * slope(link, kernels->dot(difference, at.theta.data(), dim));
    kernels->cholesky_update_both(at.factor.data(), share, at.curvature.data(), expected, dim, difference,
                                  room.step.data(), room.trial.data());
}

const double* State::theta(i64 number, SolverRoom& room) {
    Layer& at = layer(number);
    if (at.solved == Solved::outdated && !online) {
        Status status = refine(problem(number), at.theta.data(), at.curvature.data(), room);
        at.solved = status == Status::out_of_iterations ? Solved::unfinished : Solved::yes;
    }
    return at.theta.data();
}

const double* State::local_curvature(i64 number, SolverRoom& room) {
    theta(number, room);
    Layer& at = layer(number);
    if (at.stale) {
        at.stale = false;
        if (!online && dim <= DIRECT) {
            Problem p = problem(number);
            room.fit(dim, p.n);
            kernels->margins(p.z, p.stride, dim, at.theta.data(), p.n, room.margins.data());
            if (link == Link::logistic)
                kernels->logistic_model(p.mass, p.wins, room.margins.data(), p.n, room.residual.data(),
                                        room.slopes.data(), room.bends.data());
            else
                p.residuals(room.margins.data(), room.residual.data(), room.slopes.data());
            kernels->fill_curvature(p.z, p.stride, dim, room.slopes.data(), p.n, p.ridge, room.weighted.data(),
                                    at.curvature.data());
            kernels->cholesky(at.curvature.data(), dim);
        }
    }
    return at.curvature.data();
}

double State::width(i64 number, const double* z, SolverRoom& room) const {
    room.fit(dim, 0);
    double* v = room.direction.data();
    for (i64 k = 0; k < dim; k++) v[k] = z[k];
    kernels->solve_lower(layer(number).factor.data(), dim, v);
    return std::sqrt(kernels->dot(v, v, dim));
}

Problem State::problem(i64 number) const {
    const Layer& at = layer(number);
    const Rows& rows = *at.rows;
    return {rows.z(), rows.stride(), dim, rows.mass(), rows.wins(), rows.padded_count(), {at.ridge, sizes.squared.data()}, link};
}

}  // namespace duelist
