// The update of one site: the gauge transformation g(x) moves, its neighbours and all links rest.
//
// A_n are the 2 Nd matrices U_mu(x) g(x+mu)^dagger and (g(x-mu) U_mu(x-mu))^dagger, so that g A_n
// are the site's links in the gauge of the moment, all pointing away. Linear gauges (Landau,
// Coulomb) maximize Re tr g K, K = sum A_n. The maximally Abelian gauge maximizes sum_j g_j H_j
// g_j^dagger with H_j = sum_n a_nj a_nj^dagger, where g_j is row j of g and a_nj column j of A_n.
// Either way a visit reads the neighbours once, and any number of subgroup hits follow in
// registers.
#pragma once

#include "gauge/group/su2.hpp"

namespace hardscape::gauge {

enum class Method : int { Subgroups = 0, Matrix = 1, Heatbath = 2 };

// What a sweep is told.
struct Step {
  double omega = 1;        // overrelaxation
  double second = 0;       // weight of the second order in r - 1
  double probability = 1;  // of overrelaxing a site; else it is relaxed
  double temperature = 0;  // of the heatbath
};

template <int N, class T>
class LinearLocal {
 public:
  // Whether best() reads the matrix that hits have turned.
  static constexpr bool kReadsBest = false;

  HS_HD void gather(const Matrix<N, T>& neighbour) { add(staple_, neighbour); }

  // The same of a group element, or of its adjoint, of which only the rows that determine it are
  // read.
  template <bool kAdjoint>
  HS_HD void gather_element(const Matrix<N, T>& a) {
    if constexpr (N != 3) return gather(kAdjoint ? adjoint(a) : a);
    if constexpr (N == 3) {
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
          T& re = kAdjoint ? staple_.re[j][i] : staple_.re[i][j];
          T& im = kAdjoint ? staple_.im[j][i] : staple_.im[i][j];
          re += a.re[i][j];
          im += kAdjoint ? -a.im[i][j] : a.im[i][j];
        }
      }
      Group<3>::template add_last<kAdjoint>(a, staple_);
    }
  }

  HS_HD void begin(const Matrix<N, T>& g) {
    if constexpr (N > 3) {
      // A product that is returned would stand in memory of its own, which NVRTC before 13.1 took
      // to be free where a kernel's matrix lay that it reads and moves later.
      multiply_rows<false>(g, staple_, links_);
    } else {
      links_ = multiply(g, staple_);
    }
  }

  // The element of subgroup (i, j) that maximizes the functional, and by how much exp() of it
  // depends on the angle: the functional is strength * cos(angle).
  HS_HD Quaternion<T> best(const Matrix<N, T>&, int i, int j, T& strength) const {
    const RealOf<T> tiny = RealOf<T>(1e-15);  // a vanishing staple asks for nothing
    const Quaternion<T> a{links_.re[i][i] + links_.re[j][j] + tiny,
                          -(links_.im[i][j] + links_.im[j][i]), links_.re[j][i] - links_.re[i][j],
                          links_.im[j][j] - links_.im[i][i]};
    const T square = a.square();
    const T scale = inverse_sqrt(square);
    strength = square * scale;
    return a.scaled(scale);
  }

  HS_HD void rotate(int i, int j, const Quaternion<T>& r) { rotate_rows(links_, i, j, r); }

  // g K of the moment.
  HS_HD Matrix<N, T>& links() { return links_; }

  template <class R>
  HS_HD static Quaternion<R> heatbath(const Quaternion<R>& best, R k, RandomStream& random) {
    return around_identity(heatbath_cosine(k, random), random) * best;
  }

  // Re tr g K: every link of the site once.
  HS_HD T functional(const Matrix<N, T>&) const { return real_trace(links_); }

  // Delta = g K - h.c. without its trace.
  HS_HD Matrix<N, T> gradient(const Matrix<N, T>&) const {
    Matrix<N, T> delta;
    T trace{};
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        delta.re[i][j] = links_.re[i][j] - links_.re[j][i];
        delta.im[i][j] = links_.im[i][j] + links_.im[j][i];
      }
      trace += delta.im[i][i];
    }
    for (int i = 0; i < N; ++i) delta.im[i][i] = minus(delta.im[i][i], trace, RealOf<T>(1) / N);
    return delta;
  }

 private:
  Matrix<N, T> staple_{}, links_;
};

template <int N, class T>
class AbelianLocal {
 public:
  static constexpr bool kReadsBest = true;

  HS_HD void gather(const Matrix<N, T>& a) {
    HS_ROLLED_IF_LARGE for (int c = 0; c < N; ++c) {
      HS_ROLLED_IF_LARGE for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
          T &re = forms_[c].re[i][j], &im = forms_[c].im[i][j];
          re = plus(re, a.re[i][c], a.re[j][c]);
          re = plus(re, a.im[i][c], a.im[j][c]);
          im = plus(im, a.im[i][c], a.re[j][c]);
          im = minus(im, a.re[i][c], a.im[j][c]);
        }
      }
    }
  }

  template <bool kAdjoint>
  HS_HD void gather_element(const Matrix<N, T>& a) {
    gather(kAdjoint ? adjoint(a) : a);
  }

  HS_HD void begin(const Matrix<N, T>&) {}

  // Rows (g_i, g_j) turn into (alpha g_i + beta g_j, ...); the functional of (alpha, beta) is a
  // Hermitian form, and alpha >= 0 fixes the Cartan part, which it does not depend on.
  HS_HD Quaternion<T> best(const Matrix<N, T>& g, int i, int j, T& strength) const {
    const RealOf<T> half = RealOf<T>(0.5), two = 2, tiny = RealOf<T>(1e-15);
    const T p = element_re(g, i, i, i, j) - element_re(g, j, j, i, j);
    T re, im;
    element(g, i, j, i, j, re, im);
    const T parts = plus(plus(T(half * half * p * p), re, re), im, im);
    const T square = parts + tiny * tiny;
    const T root = square * inverse_sqrt(square);
    strength = two * root;
    return Quaternion<T>{plus(root, half, p) + tiny, im, re, T{}}.normalized();
  }

  HS_HD void rotate(int, int, const Quaternion<T>&) {}

  // |alpha|^2 = u has the density exp(k u); phases are uniform.
  template <class R>
  HS_HD static Quaternion<R> heatbath(const Quaternion<R>& best, R k, RandomStream& random) {
    const R xi = uniform<R>(random);
    const R flat = sizeof(R) == sizeof(float) ? R(1e-3) : R(1e-6);
    const R u = k < flat ? xi : 1 + log(plus(xi, R(1 - xi), exp(-k))) / k;
    const R inside = u < 0 ? 0 : u > 1 ? 1 : u;
    const R x = sqrt(inside), y = sqrt(1 - inside);
    const R chi = uniform<R>(random), psi = uniform<R>(random);
    const Quaternion<R> from_best{x * cos_turn(chi), y * sin_turn(psi), y * cos_turn(psi),
                                  x * sin_turn(chi)};
    return from_best * best;
  }

  // sum_n sum_j |(g A_n)_jj|^2
  HS_HD T functional(const Matrix<N, T>& g) const {
    T sum{};
    HS_ROLLED_IF_LARGE for (int c = 0; c < N; ++c) {
      T re, im;
      form(g, forms_[c], c, c, re, im);
      sum += re;
    }
    return sum;
  }

  // Delta_ij = -g_i (H_i - H_j) g_j^dagger
  HS_HD Matrix<N, T> gradient(const Matrix<N, T>& g) const {
    Matrix<N, T> delta{};
    HS_ROLLED_IF_LARGE for (int i = 0; i < N; ++i) {
      HS_ROLLED_IF_LARGE for (int j = i + 1; j < N; ++j) {
        T re, im;
        element(g, i, j, i, j, re, im);
        delta.re[i][j] = -re;
        delta.im[i][j] = -im;
        delta.re[j][i] = re;
        delta.im[j][i] = -im;
      }
    }
    return delta;
  }

 private:
  // g_a H g_b^dagger
  HS_HD static void form(const Matrix<N, T>& g, const Matrix<N, T>& h, int a, int b, T& re, T& im) {
    Sum<T> sum;
    HS_ROLLED_IF_LARGE for (int l = 0; l < N; ++l) {
      Sum<T> left;
      for (int k = 0; k < N; ++k) left.add(g.re[a][k], g.im[a][k], h.re[k][l], h.im[k][l]);
      sum.add_conjugate(left.re, left.im, g.re[b][l], g.im[b][l]);
    }
    re = sum.re;
    im = sum.im;
  }

  // g_a (H_i - H_j) g_b^dagger
  HS_HD void element(const Matrix<N, T>& g, int a, int b, int i, int j, T& re, T& im) const {
    Matrix<N, T> h;
    HS_ROLLED_IF_LARGE for (int k = 0; k < N; ++k) {
      for (int l = 0; l < N; ++l) {
        h.re[k][l] = forms_[i].re[k][l] - forms_[j].re[k][l];
        h.im[k][l] = forms_[i].im[k][l] - forms_[j].im[k][l];
      }
    }
    form(g, h, a, b, re, im);
  }

  HS_HD T element_re(const Matrix<N, T>& g, int a, int b, int i, int j) const {
    T re, im;
    element(g, a, b, i, j, re, im);
    return re;
  }

  Matrix<N, T> forms_[N]{};
};

// tr Delta Delta^dagger / N
template <int N, class T>
HS_HD inline T violation(const Matrix<N, T>& delta) {
  T sum{};
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      const T square = delta.re[i][j] * delta.re[i][j];
      sum += plus(square, delta.im[i][j], delta.im[i][j]);
    }
  }
  return sum * (RealOf<T>(1) / N);
}

// One hit in each subgroup, overrelaxed.
template <int N, class T, class Local>
HS_HD inline void update_subgroups(Local& local, Matrix<N, T>& g, T omega, T second) {
  local.begin(g);
  for_subgroups<N>([&](int i, int j) {
    T strength;
    const Quaternion<T> r = power(local.best(g, i, j, strength), omega, second);
    local.rotate(i, j, r);
    rotate_rows(g, i, j, r);
  });
}

// The local maximum by rounds of Cabibbo-Marinari hits, then the overrelaxation of the whole
// matrix: g + omega (g_best - g), projected. Hits mix rows, so the columns of g_best move one by
// one, and of a small group the last one follows from the others.
template <int N, class T, class Local>
HS_HD inline void update_matrix(Local& local, Matrix<N, T>& g, T omega) {
  Matrix<N, T> best = g;
  local.begin(g);
  const auto hit = [&](int i, int j) {
    T strength;
    const Quaternion<T> r = local.best(best, i, j, strength);
    local.rotate(i, j, r);
    rotate_rows(best, i, j, r, Local::kReadsBest ? N : kRowsKept<N>);
  };
  for_subgroups<N>(hit);
  if constexpr (Group<N>::kRounds > 1) for_subgroups<N>(hit);
  if constexpr (!Local::kReadsBest) complete_columns(best);
  g = extrapolate(g, best, omega);
  unitarize(g);
}

}  // namespace hardscape::gauge
