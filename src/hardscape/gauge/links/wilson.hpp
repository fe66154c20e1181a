// The quenched Wilson action exp((beta / Nc) sum Re tr plaquette): a Markov chain of links.
//
// A link sees the staples around it only, so the conditional distribution of U_mu(x) is exp((beta /
// Nc) Re tr U A), and links of one direction that start at sites of one colour do not see one
// another. N. Cabibbo and E. Marinari, Phys. Lett. B 119, 387 (1982), move SU(2) subgroups in turn.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gauge/lattice/local.hpp"
#include "gauge/links/placed.hpp"
#include "gauge/links/team.hpp"

namespace hardscape::gauge {

// Sweeps of the chain that the threads of a team do together.
struct ChainSweeps {
  double beta;
  int overrelax;                   // overrelaxation sweeps after each heatbath sweep
  std::uint64_t seed, first;       // of random numbers; number of the first sweep
  std::vector<double> plaquettes;  // after each
  Steps steps;
};

// What plaquettes weigh in the action, and which links are held: all alike and none, where the
// lattice is periodic and isotropic.
template <int W>
struct NoEnds {
  static constexpr bool kThere = false;
};

// The links of one colour and direction: what moves at the same time; of a window all, those that
// neighbours have copies of, or the others.
struct ChainStep {
  bool heat;
  int color, mu;
  int sides = 0;
};

class AnyWilsonChain {
 public:
  virtual ~AnyWilsonChain() = default;
  virtual void links(std::complex<double>* links) const = 0;
  // The share of one thread.
  virtual void run(ChainSweeps& sweeps, int rank) = 0;
  // Of a window, whose outer sites are copies of what moves elsewhere: one step of the first
  // sweep, links in direction mu where direction nu has a coordinate, and the sums of plaquettes
  // that start at each site.
  virtual int colors() const = 0;
  virtual void step(const ChainSweeps& sweeps, const ChainStep& step, int rank, int of) = 0;
  virtual void face(int nu, int at, int mu, std::complex<double>* links) const = 0;
  virtual void set_face(int nu, int at, int mu, const std::complex<double>* links) = 0;
  virtual void site_traces(double* sums, int rank, int of) = 0;
};

template <int N, int W, class Ends = NoEnds<W>>
class WilsonChain final : public AnyWilsonChain, PlacedLinks<N, W> {
  using Placed = PlacedLinks<N, W>;
  using Placed::layout_;
  using Placed::link;
  using Placed::links_;
  using Placed::staple_above;
  using Placed::staple_below;
  using typename Placed::M;
  using typename Placed::V;

 public:
  WilsonChain(const Layout& layout, const std::complex<double>* links, const Ends& ends = {})
      : Placed(layout, links),
        traces_(static_cast<std::size_t>(layout.vectors()) * W),
        ends_(ends) {
    moving_.resize(3 * layout.colors());
    for (int color = 0; color < layout.colors(); ++color) {
      for (int v = layout.first(color); v < layout.first(color + 1); ++v) {
        if (layout.rests(v)) continue;
        moving_[3 * color].push_back(v);
        moving_[3 * color + (layout.borders(v) ? 1 : 2)].push_back(v);
      }
    }
  }

  void links(std::complex<double>* links) const override { Placed::copy_to(links); }

  int colors() const override { return layout_.colors(); }

  void face(int nu, int at, int mu, std::complex<double>* links) const override {
    Placed::copy_face_to(nu, at, mu, links);
  }

  void set_face(int nu, int at, int mu, const std::complex<double>* links) override {
    Placed::copy_face_from(nu, at, mu, links);
  }

  void step(const ChainSweeps& sweeps, const ChainStep& step, int rank, int of) override {
    move(sweeps, sweeps.first, step, Share{rank, of});
  }

  void site_traces(double* sums, int rank, int of) override {
    const Share share{rank, of};
    for (int v = share.first(layout_.vectors()); v < share.last(layout_.vectors()); ++v) {
      const V traces = traces_of(v);
      for (int lane = 0; lane < W; ++lane) sums[layout_.site(v, lane)] = lane_of(traces, lane);
    }
  }

  void run(ChainSweeps& sweeps, int rank) override {
    const Share share = sweeps.steps.share(rank);
    for (std::size_t n = 0; n < sweeps.plaquettes.size(); ++n) {
      for (int kind = 0; kind <= sweeps.overrelax; ++kind) sweep(sweeps, n, kind == 0, share);
      measure(share);
      sweeps.steps.wait();
      // The others do not measure again before they have met this thread in the next sweep.
      if (rank == 0) sweeps.plaquettes[n] = plaquette();
    }
  }

 private:
  decltype(auto) weighed(int v, int mu, int nu, M&& staple) const {
    if constexpr (Ends::kThere) {
      return scaled(staple, ends_.weight(v, mu, nu));
    } else {
      return std::move(staple);
    }
  }

  // The same as plaquettes are counted, whatever they weigh in the action.
  decltype(auto) counted(int v, int mu, int nu, M&& staple) const {
    if constexpr (Ends::kThere) {
      return mu < layout_.time() && nu < layout_.time() ? scaled(staple, ends_.part(v)) : M(staple);
    } else {
      return std::move(staple);
    }
  }

  LinearLocal<N, V> gathered(int v, int mu) const {
    LinearLocal<N, V> local;
    for (int nu = 0; nu < layout_.dimensions(); ++nu) {
      if (nu == mu) continue;
      local.gather(weighed(v, mu, nu, staple_above(v, mu, nu)));
      local.gather(weighed(v, mu, nu, staple_below(v, mu, nu)));
    }
    return local;
  }

  void sweep(ChainSweeps& sweeps, std::uint64_t n, bool heat, const Share& share) {
    for (int color = 0; color < layout_.colors(); ++color) {
      for (int mu = 0; mu < layout_.dimensions(); ++mu) {
        move(sweeps, sweeps.first + n, {heat, color, mu}, share);
        sweeps.steps.wait();
      }
    }
  }

  // One function for lattices and windows of them, which so come to the same bits.
  [[gnu::noinline]] void move(const ChainSweeps& sweeps, std::uint64_t number,
                              const ChainStep& step, const Share& share) {
    const std::vector<int>& some = moving_[3 * step.color + step.sides];
    for (int i = share.first(some.size()); i < share.last(some.size()); ++i) {
      const int v = some[i];
      if (step.heat) {
        heatbath(v, step.mu, sweeps, number);
      } else {
        overrelax(v, step.mu);
      }
    }
  }

  // Which products and sums become one fused instruction may depend on the code around them; in
  // functions of their own they are the same in every loop, so for any number of threads.
  [[gnu::noinline]] static Quaternion<V> best(const LinearLocal<N, V>& local, const M& u, int i,
                                              int j, V& strength) {
    return local.best(u, i, j, strength);
  }
  [[gnu::noinline]] static Quaternion<V> product(const Quaternion<V>& a, const Quaternion<V>& b) {
    return a * b;
  }
  [[gnu::noinline]] static void turn(M& u, int i, int j, const Quaternion<V>& r) {
    rotate_rows(u, i, j, r);
  }
  [[gnu::noinline]] static void bring_back(M& u) { unitarize(u); }

  // Moves a link by what choose(best, strength, subgroup) takes for each subgroup.
  template <class Choose>
  void update(int v, int mu, const Choose& choose) {
    LinearLocal<N, V> local = gathered(v, mu);
    M& u = links_[layout_.link(v, mu)];
    local.begin(u);
    const auto before = held(u);
    int subgroup = 0;
    for_subgroups<N>([&](int i, int j) {
      V strength;
      const Quaternion<V> preferred = best(local, u, i, j, strength);
      const Quaternion<V> r = product(choose(preferred, strength, subgroup++), preferred);
      turn(local.links(), i, j, r);
      turn(u, i, j, r);
    });
    bring_back(u);
    if constexpr (Ends::kThere) ends_.hold(v, mu, u, before);
  }

  static auto held(const M& u) {
    if constexpr (Ends::kThere) {
      return u;
    } else {
      return 0;
    }
  }

  // Microcanonical: each subgroup element is reflected about the one that the staples prefer.
  // M. Creutz, Phys. Rev. D 36, 515 (1987).
  void overrelax(int v, int mu) {
    update(v, mu, [](const Quaternion<V>& best, const V&, int) { return best; });
  }

  // Streams of a link and sweep, one a subgroup.
  static constexpr int kStreams = N > 3 ? N * (N - 1) / 2 : 4;

  void heatbath(int v, int mu, const ChainSweeps& sweeps, std::uint64_t number) {
    const double coupling = sweeps.beta / N;
    update(v, mu, [&](const Quaternion<V>&, const V& strength, int subgroup) {
      Quaternion<V> drawn{};
      for (int lane = 0; lane < W; ++lane) {
        const auto stream =
            static_cast<std::uint64_t>(layout_.whole_site(v, lane)) * layout_.dimensions() + mu;
        RandomStream random(sweeps.seed, stream, kStreams * number + subgroup);
        const double x = heatbath_cosine(coupling * lane_of(strength, lane), random);
        const Quaternion<double> q = around_identity(x, random);
        set_lane(drawn.a0, lane, q.a0);
        set_lane(drawn.a1, lane, q.a1);
        set_lane(drawn.a2, lane, q.a2);
        set_lane(drawn.a3, lane, q.a3);
      }
      return drawn;
    });
  }

  // Re tr of the plaquettes that start at each site of a vector.
  [[gnu::noinline]] V traces_of(int v) const {
    V sum{};
    for (int mu = 0; mu < layout_.time(); ++mu) {
      LinearLocal<N, V> local;
      for (int nu = mu + 1; nu < layout_.dimensions(); ++nu) {
        local.gather(counted(v, mu, nu, staple_above(v, mu, nu)));
      }
      local.begin(link(v, mu));
      sum += local.functional(link(v, mu));
    }
    return sum;
  }

  void measure(const Share& share) {
    for (int v = share.first(layout_.vectors()); v < share.last(layout_.vectors()); ++v) {
      const V sum = traces_of(v);
      for (int lane = 0; lane < W; ++lane) traces_[layout_.site(v, lane)] = lane_of(sum, lane);
    }
  }

  // The mean of what was measured.
  double plaquette() const {
    const double planes = layout_.dimensions() * (layout_.dimensions() - 1) / 2;
    const double mean = added_up(traces_) / (planes * N * static_cast<double>(traces_.size()));
    if constexpr (Ends::kThere) return mean * layout_.slices() / ends_.slices();
    return mean;
  }

  std::vector<double> traces_;            // of each site
  std::vector<std::vector<int>> moving_;  // vectors of [color][all, sides, inner]
  [[no_unique_address]] Ends ends_;
};

}  // namespace hardscape::gauge
