// The gradient flow of the Wilson action, and what is measured along it.
//
// M. Luscher, JHEP 08 (2010) 071: V' = -P(U A) V with the antihermitian traceless part P of each
// link times the sum A of its staples, by the third-order steps of his appendix C.
//
// Where the lattice ends in time, plaquettes in space count half and the derivative by a link in
// space is taken twice (M. Luscher, S. Schaefer, Comput. Phys. Commun. 184, 519 (2013), appendix
// B): its staples in time count twice. Fixed links in space stay. The links in t of the last
// timeslice are zero, and stay so.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "gauge/group/algebra.hpp"
#include "gauge/links/placed.hpp"
#include "gauge/links/plaquette.hpp"
#include "gauge/links/team.hpp"

namespace hardscape::gauge {

// Per site: the energy density by plaquettes and by clovers, and the topological charge density.
using Densities = std::array<double, 3>;

// What the first or the last timeslice is: like all others, an end, or one of fixed links in space.
enum class End { none, open, fixed };

// Steps of the flow that the threads of a team do together.
struct FlowSteps {
  double size;
  std::vector<Densities> measured;  // sums after each; before the first where `size` is 0
  Steps steps;
  End first = End::none, last = End::none;  // both or neither; sums are then of the slices between

  bool ends() const { return first != End::none; }
};

class AnyWilsonFlow {
 public:
  virtual ~AnyWilsonFlow() = default;
  virtual void links(std::complex<double>* links) const = 0;
  // The share of one thread.
  virtual void run(FlowSteps& steps, int rank) = 0;
};

template <int N, int W>
class WilsonFlow final : public AnyWilsonFlow, PlacedLinks<N, W> {
  using Placed = PlacedLinks<N, W>;
  using Placed::layout_;
  using Placed::link;
  using Placed::links_;
  using typename Placed::M;
  using typename Placed::V;

 public:
  WilsonFlow(const Layout& layout, const std::complex<double>* links)
      : Placed(layout, links), force_(links_.size()) {
    for (auto& density : densities_) density.resize(static_cast<std::size_t>(layout.vectors()) * W);
  }

  void links(std::complex<double>* links) const override { Placed::copy_to(links); }

  void run(FlowSteps& steps, int rank) override {
    const Share share = steps.steps.share(rank);
    const int first = share.first(layout_.vectors()), last = share.last(layout_.vectors());
    for (Densities& measured : steps.measured) {
      if (steps.size != 0) {
        for (const auto& [fresh, old] : kStages) {
          for (int v = first; v < last; ++v) push(v, fresh * steps.size, old, steps);
          steps.steps.wait();
          for (int v = first; v < last; ++v) move(v, steps);
          steps.steps.wait();
        }
      }
      for (int v = first; v < last; ++v) measure(v, steps);
      steps.steps.wait();
      if (rank == 0) measured = total();
      steps.steps.wait();
    }
  }

 private:
  // X = fresh Z + old X in each of the three stages, where Z is the force on the links of the
  // moment.
  static constexpr double kStages[3][2] = {{1.0 / 4, 0.0}, {8.0 / 9, -17.0 / 9}, {3.0 / 4, -1.0}};

  // In functions of their own, so that they are the same instructions in every loop.
  [[gnu::noinline]] void push(int v, double fresh, double old, const FlowSteps& steps) {
    const V twice = steps.ends() ? weights_in_time(v, steps) : V{} + 1;
    for (int mu = 0; mu < layout_.dimensions(); ++mu) {
      M staples = M::zero();
      for (int nu = 0; nu < layout_.dimensions(); ++nu) {
        if (nu == mu) continue;
        if (steps.ends() && nu == layout_.time()) {
          add(staples, scaled(Placed::staple_above(v, mu, nu), twice));
          add(staples, scaled(Placed::staple_below(v, mu, nu), twice));
          continue;
        }
        add(staples, Placed::staple_above(v, mu, nu));
        add(staples, Placed::staple_below(v, mu, nu));
      }
      const M z = antihermitian(multiply(link(v, mu), staples));
      M& x = force_[layout_.link(v, mu)];
      each_number([&](V& to, const V& from) { to = old * to - fresh * from; }, x, z);
    }
  }

  [[gnu::noinline]] void move(int v, const FlowSteps& steps) {
    for (int mu = 0; mu < layout_.dimensions(); ++mu) {
      const std::size_t place = layout_.link(v, mu);
      if (!steps.ends()) {
        links_[place] = exponential(force_[place], links_[place]);
        unitarize(links_[place]);
        continue;
      }
      const M before = links_[place];
      links_[place] = exponential(force_[place], before);
      unitarize(links_[place]);
      for (int lane = 0; lane < W; ++lane) {
        if (!stays(layout_.slice(v, lane), mu, steps)) continue;
        each_number([&](V& to, const V& from) { set_lane(to, lane, lane_of(from, lane)); },
                    links_[place], before);
      }
    }
  }

  // How often staples in t count: twice for links in space at an open end.
  V weights_in_time(int v, const FlowSteps& steps) const {
    V weights = V{} + 1;
    for (int lane = 0; lane < W; ++lane) {
      if (end_of(layout_.slice(v, lane), steps) == End::open) set_lane(weights, lane, 2.0);
    }
    return weights;
  }

  End end_of(int slice, const FlowSteps& steps) const {
    if (slice == 0) return steps.first;
    return slice == layout_.slices() - 1 ? steps.last : End::none;
  }

  bool stays(int slice, int mu, const FlowSteps& steps) const {
    if (mu == layout_.time()) return slice == layout_.slices() - 1;
    return end_of(slice, steps) == End::fixed;
  }

  // U_mu at the site that the directions lead to.
  M at(int v, int mu, int one, int two = -1) const {
    const int near = layout_.neighbor(v, one);
    if (two < 0) return permuted(link(near, mu), layout_.lanes_of(v, one));
    const M far = permuted(link(layout_.neighbor(near, two), mu), layout_.lanes_of(near, two));
    return permuted(far, layout_.lanes_of(v, one));
  }

  // The field strength at a site: the four plaquettes of a plane around it.
  M clover(int v, int mu, int nu) const {
    M sum = multiply_adjoint(multiply_adjoint(multiply(link(v, mu), at(v, nu, mu)), at(v, mu, nu)),
                             link(v, nu));
    const int left_of = layout_.back(mu), below = layout_.back(nu);
    const M left = at(v, mu, left_of), down = at(v, nu, below);
    M leaf = multiply_adjoint(link(v, nu), at(v, mu, left_of, nu));
    add(sum, multiply(multiply_adjoint(leaf, at(v, nu, left_of)), left));
    leaf = multiply(adjoint(multiply(at(v, nu, left_of, below), left)), at(v, mu, left_of, below));
    add(sum, multiply(leaf, down));
    leaf = multiply(multiply(adjoint(down), at(v, mu, below)), at(v, nu, mu, below));
    add(sum, multiply_adjoint(leaf, link(v, mu)));
    return scaled(antihermitian(sum), V{} + 0.25);
  }

  // Re tr a b
  static V trace_of(const M& a, const M& b) {
    V sum{};
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        sum += a.re[i][j] * b.re[j][i];
        sum -= a.im[i][j] * b.im[j][i];
      }
    }
    return sum;
  }

  [[gnu::noinline]] void measure(int v, const FlowSteps& steps) {
    V plaquettes{}, squares{};
    M field[kMostPlanes];
    int plane = 0;
    for (int mu = 0; mu < layout_.time(); ++mu) {
      for (int nu = mu + 1; nu < layout_.dimensions(); ++nu, ++plane) {
        plaquettes += real_trace(multiply(link(v, mu), Placed::staple_above(v, mu, nu)));
        field[plane] = clover(v, mu, nu);
        squares += trace_of(field[plane], field[plane]);
      }
    }
    V charge{};
    if (layout_.dimensions() == 4) {
      // Planes xy xz xt yz yt zt.
      charge = trace_of(field[0], field[5]) - trace_of(field[1], field[4]) +
               trace_of(field[2], field[3]);
    }
    constexpr double kPi = 3.14159265358979323846;
    for (int lane = 0; lane < W; ++lane) {
      const int site = layout_.site(v, lane);
      if (end_of(layout_.slice(v, lane), steps) != End::none) {
        for (auto& density : densities_) density[site] = 0;
        continue;
      }
      densities_[0][site] = 2 * (static_cast<double>(plane) * N - lane_of(plaquettes, lane));
      densities_[1][site] = -lane_of(squares, lane);
      densities_[2][site] = -lane_of(charge, lane) / (4 * kPi * kPi);
    }
  }

  Densities total() const {
    return {added_up(densities_[0]), added_up(densities_[1]), added_up(densities_[2])};
  }

  std::vector<M> force_;
  std::array<std::vector<double>, 3> densities_;  // of each site
};

}  // namespace hardscape::gauge
