// Links on arrays, and the solvers of `fit_mle`.
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"

namespace duelist {

namespace {

nb::ndarray<nb::numpy, double> link_values(const std::string& link, const std::string& what, Vector v) {
    i64 n = static_cast<i64>(v.shape(0));
    std::vector<double> out(static_cast<std::size_t>(n));
    with_link(link_from_name(link), [&](auto l) {
        for (i64 k = 0; k < n; k++) {
            if (what == "mean")
                out[k] = l.mean(v.data()[k]);
            else if (what == "slope")
                out[k] = l.slope(v.data()[k]);
            else
                out[k] = l.potential(v.data()[k]);
        }
    });
    return copied(out);
}

// Columns of z are rows of data, padded to a multiple of 16 by rows without mass.
GlmProblem problem_of(const Matrix& z, const Vector& mass, const Vector& wins, double ridge, const std::string& link) {
    i64 n = static_cast<i64>(z.shape(1));
    if (n % 16 != 0 || mass.shape(0) != z.shape(1) || wins.shape(0) != z.shape(1) || z.shape(0) == 0)
        throw std::invalid_argument("rows, mass and wins do not fit");
    return {z.data(), n, static_cast<i64>(z.shape(0)), mass.data(), wins.data(), n, {ridge}, link_from_name(link)};
}

nb::tuple solve(const std::string& solver, Matrix z, Vector mass, Vector wins, double ridge, const std::string& link,
                Vector start, double tolerance, i64 most, Words words) {
    GlmProblem problem = problem_of(z, mass, wins, ridge, link);
    if (static_cast<i64>(start.shape(0)) != problem.dim) throw std::invalid_argument("the start does not fit");
    AlignedDoubles theta(problem.dim);
    std::copy_n(start.data(), problem.dim, theta.data());
    SolverResult outcome{SolverStatus::converged, 1};
    {
        nb::gil_scoped_release others_go_on;
        if (solver == "newton")
            outcome = newton(problem, theta.data(), tolerance, most);
        else if (solver == "agd")
            outcome = accelerated_gradient(problem, theta.data(), tolerance, most);
        else if (solver == "svrg") {
            Sfc64 random;
            std::copy_n(words.data(), 4, random.words.begin());
            outcome = variance_reduced(problem, theta.data(), tolerance, most, random);
        } else if (solver == "online")
            one_pass(problem, theta.data());
        else
            throw std::invalid_argument("the engine has no solver '" + solver + "'");
    }
    return nb::make_tuple(copied(theta.data(), {problem.dim}), static_cast<int>(outcome.status), outcome.iterations);
}

nb::ndarray<nb::numpy, double> gradient(Matrix z, Vector mass, Vector wins, double ridge, const std::string& link,
                                        Vector theta) {
    GlmProblem problem = problem_of(z, mass, wins, ridge, link);
    if (static_cast<i64>(theta.shape(0)) != problem.dim) throw std::invalid_argument("theta does not fit");
    AlignedDoubles margins(problem.n), out(problem.dim);
    problem.gradient(theta.data(), margins.data(), out.data());
    return copied(out.data(), {problem.dim});
}

}  // namespace

void bind_estimation(nb::module_& m) {
    m.def("link_values", &link_values, "link"_a, "what"_a, "v"_a);
    m.def("max_slope", [](const std::string& link) { return max_slope(link_from_name(link)); }, "link"_a);
    m.def("solve", &solve, "solver"_a, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "start"_a, "tolerance"_a,
          "most"_a, "words"_a);
    m.def("gradient", &gradient, "z"_a, "mass"_a, "wins"_a, "ridge"_a, "link"_a, "theta"_a);
}

}  // namespace duelist
