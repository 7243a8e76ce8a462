// Links on arrays, and the solvers of `fit_mle`.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "model/incremental_fit.hpp"

namespace duelist {

namespace {

FloatArray link_values(const std::string& link, const std::string& what, Vector v) {
    std::vector<double> out;
    with_link(link_from_name(link), [&](auto l) {
        for (double x : v.span())
            out.push_back(what == "mean" ? l.mean(x) : what == "slope" ? l.slope(x) : l.potential(x));
    });
    return to_numpy(out);
}

// Columns of z are rows of data, padded to a multiple of 16 by rows without mass. The ridge of feature k is `ridge` times
// ridge_scale[k].
GlmProblem make_problem(const Matrix& z, const Vector& mass, const Vector& wins, double ridge, const std::string& link,
                        const std::optional<Vector>& ridge_scale) {
    i64 dim = z.extent(0), n = z.extent(1);
    require(n % 16 == 0 && mass.extent(0) == n && wins.extent(0) == n && dim > 0, "z, mass and wins do not match.");
    require(!ridge_scale || ridge_scale->extent(0) == dim, "ridge_scale does not match z.");
    Ridge penalty{ridge, ridge_scale ? ridge_scale->data() : nullptr};
    return {z.data(), n, dim, mass.data(), wins.data(), n, penalty, link_from_name(link)};
}

SolverResult run_solver(const std::string& solver, const GlmProblem& problem, double* theta, double tolerance,
                        i64 max_iterations, const Sfc64& random) {
    if (solver == "newton") return newton(problem, theta, tolerance, max_iterations);
    if (solver == "agd") return accelerated_gradient(problem, theta, tolerance, max_iterations);
    if (solver == "svrg") return variance_reduced(problem, theta, tolerance, max_iterations, random);
    require(solver == "online", "There is no solver '" + solver + "'.");
    one_pass(problem, theta);
    return {SolverStatus::converged, 1};
}

std::tuple<FloatArray, int, i64> solve(const std::string& solver, Matrix z, Vector mass, Vector wins, double ridge,
                                       const std::string& link, Vector start, double tolerance, i64 max_iterations,
                                       Words words, std::optional<Vector> ridge_scale) {
    GlmProblem problem = make_problem(z, mass, wins, ridge, link, ridge_scale);
    require(start.extent(0) == problem.dim, "start does not match z.");
    AlignedDoubles theta(problem.dim);
    std::copy_n(start.data(), problem.dim, theta.data());
    SolverResult result;
    {
        nb::gil_scoped_release release;
        result = run_solver(solver, problem, theta.data(), tolerance, max_iterations, generator(words));
    }
    return {to_numpy(theta.data(), {problem.dim}), static_cast<int>(result.status), result.iterations};
}

FloatArray gradient(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link, Vector theta,
                    std::optional<Vector> ridge_scale) {
    GlmProblem problem = make_problem(z, mass, wins, ridge, link, ridge_scale);
    require(theta.extent(0) == problem.dim, "theta does not match z.");
    AlignedDoubles margins(problem.n), out(problem.dim);
    problem.gradient(theta.data(), margins.data(), out.data());
    return to_numpy(out.data(), {problem.dim});
}

}  // namespace

void bind_estimation(nb::module_& m) {
    m.def("link_values", &link_values, "link"_a, "what"_a, "v"_a);
    m.def("max_slope", [](const std::string& link) { return max_slope(link_from_name(link)); }, "link"_a);
    m.def("solve", &solve, "solver"_a, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "start"_a, "tolerance"_a,
          "max_iterations"_a, "words"_a, "ridge_scale"_a = nb::none());
    m.def("gradient", &gradient, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a,
          "ridge_scale"_a = nb::none());
}

}  // namespace duelist
