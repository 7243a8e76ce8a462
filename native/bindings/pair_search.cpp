// The best and the widest pair for a given estimate, for arms in single or double precision.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "search/pair_search.hpp"

namespace duelist {

namespace {

template <class Real>
using Arms = AlignedArray<const Real, nb::ndim<2>>;

using Pair = std::tuple<i64, i64, double>;

// Whitened arms, with utilities if theta is given.
template <class Real>
struct WhitenedArms {
    Workspace workspace;
    ArmView view;

    WhitenedArms(const Arms<Real>& arms, const double* theta, const Matrix& factor) {
        i64 n = arms.extent(0), dim = arms.extent(1), stride = padded(n);
        require(n > 0 && factor.extent(0) == dim && factor.extent(1) == dim, "arms and factor do not match.");
        workspace.u.fit(stride);
        workspace.v.fit(dim * stride);
        double *u = workspace.u.data(), *v = workspace.v.data();
        if constexpr (std::is_same_v<Real, double>)
            kernels->whiten(arms.data(), nullptr, n, dim, theta, factor.data(), u, v, stride);
        else
            kernels->whiten_single(arms.data(), nullptr, n, dim, theta, factor.data(), u, v, stride);
        view = {u, v, n, stride, dim};
        if (n < MANY_ARMS) workspace.fit(n, dim);
    }
};

template <class Real>
Pair best(Arms<Real> arms, Vector theta, Matrix factor, double radius) {
    require(theta.extent(0) == arms.extent(1), "theta does not match the arms.");
    nb::gil_scoped_release release;
    WhitenedArms<Real> whitened(arms, theta.data(), factor);
    FoundPair found = best_pair(whitened.view, radius, {}, whitened.workspace);
    return {found.first, found.second, found.value};
}

template <class Real>
Pair widest(Arms<Real> arms, Matrix factor) {
    nb::gil_scoped_release release;
    WhitenedArms<Real> whitened(arms, nullptr, factor);
    FoundPair found = widest_pair(whitened.view, {}, whitened.workspace);
    return {found.first, found.second, found.value};
}

// The upper Cholesky factor, or None if the matrix is not positive definite.
std::optional<FloatArray> cholesky_factor(Matrix matrix) {
    i64 dim = matrix.extent(0);
    require(matrix.extent(1) == dim, "The matrix is not square.");
    AlignedDoubles factor(dim * dim);
    std::copy_n(matrix.data(), dim * dim, factor.data());
    if (!kernels->cholesky(factor.data(), dim)) return std::nullopt;
    return to_numpy(factor.data(), {dim, dim});
}

FloatArray utilities(Matrix arms, Vector theta) {
    i64 n = arms.extent(0), dim = arms.extent(1);
    require(theta.extent(0) == dim, "theta does not match the arms.");
    AlignedDoubles u(padded(n));
    if (n > 0) kernels->whiten(arms.data(), nullptr, n, dim, theta.data(), nullptr, u.data(), nullptr, 0);
    return to_numpy(u.data(), {n});
}

}  // namespace

void bind_pair_search(nb::module_& m) {
    m.attr("MANY_ARMS") = MANY_ARMS;
    m.def("best_pair", &best<double>, "arms"_a.noconvert(), "theta"_a, "factor"_a, "radius"_a);
    m.def("best_pair", &best<float>, "arms"_a.noconvert(), "theta"_a, "factor"_a, "radius"_a);
    m.def("widest_pair", &widest<double>, "arms"_a.noconvert(), "factor"_a);
    m.def("widest_pair", &widest<float>, "arms"_a.noconvert(), "factor"_a);
    m.def("cholesky_factor", &cholesky_factor, "matrix"_a);
    m.def("utilities", &utilities, "arms"_a, "theta"_a);
}

}  // namespace duelist
