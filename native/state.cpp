#include "state.hpp"

namespace duelist {

Layer::Layer(i64 dim, double ridge, double prior, double radius)
    : ridge(ridge), radius(radius), theta(dim), factor(dim * dim), curvature(dim * dim), rows(std::make_shared<Rows>(dim)) {
    for (i64 k = 0; k < dim; k++) {
        factor[k * dim + k] = std::sqrt(prior);
        curvature[k * dim + k] = std::sqrt(ridge);
    }
}

bool State::learn(i64 number, const Observation& seen, double share, double weight, SolverRoom& room) {
    room.fit(dim, 0);
    Evidence given{};
    if (!seen.evidence(dim, share * weight, room.shift.data(), given)) return false;
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
    return true;
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
    return {rows.z(), rows.stride(), dim, rows.mass(), rows.wins(), rows.padded_count(), at.ridge, link};
}

}  // namespace duelist
