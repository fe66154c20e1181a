// Lower bounds of pseudo-Boolean quadratic functions by weighted clique covers of conflicts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/wide.hpp"

namespace hardscape::ising {

// Sets of places are integers, as states are.
template <class Set>
int first_of(Set set) {
  if constexpr (sizeof(Set) == sizeof(std::uint64_t)) {
    return std::countr_zero(set);
  } else {
    const auto low = static_cast<std::uint64_t>(set);
    return low ? std::countr_zero(low)
               : 64 + std::countr_zero(static_cast<std::uint64_t>(set >> 64));
  }
}

template <class Set>
int size_of(Set set) {
  int size = 0;
  for (unsigned i = 0; i < sizeof(Set) / sizeof(std::uint64_t); ++i) {
    size += std::popcount(static_cast<std::uint64_t>(set >> (64 * i)));
  }
  return size;
}

template <class Set, class Visit>
void each_of(Set set, Visit&& visit) {
  for (; set; set &= set - 1) visit(first_of(set));
}

template <class Set>
Set only(int v) {
  return Set{1} << v;
}

// E(x) = sum_v u_v x_v + sum_{v < w} q_vw x_v x_w of x in {0, 1}.
template <int Limbs, class Set>
class Couplings {
 public:
  using Integer = Wide<Limbs>;

  Couplings(const std::vector<Integer>& linear, std::vector<Integer> pairs)
      : n_(static_cast<int>(linear.size())),
        pairs_(std::move(pairs)),
        attracted_(n_),
        rivals_(n_),
        weak_(n_) {
    std::vector<Integer> most = linear;  // what x_v = 1 can gain at best, negated
    for (int v = 0; v < n_; ++v) {
      for (int w = 0; w < n_; ++w) {
        if (!(*this)(v, w).negative()) continue;
        most[v] += (*this)(v, w);
        attracted_[v] |= only<Set>(w);
      }
    }
    for (int v = 0; v < n_; ++v) {
      for (int w = 0; w < n_; ++w) {
        const Integer& q = (*this)(v, w);
        if (v == w || q.negative() || q == Integer::zero()) continue;
        const bool enough = !(q + most[v]).negative() || !(q + most[w]).negative();
        (enough ? rivals_ : weak_)[v] |= only<Set>(w);
      }
    }
  }

  int size() const { return n_; }
  const Integer& operator()(int v, int w) const {
    return pairs_[static_cast<std::size_t>(v) * n_ + w];
  }
  const Integer* row(int v) const { return &pairs_[static_cast<std::size_t>(v) * n_]; }
  // Places with a negative coupling to v.
  Set attracted(int v) const { return attracted_[v]; }
  // Places of which v is a rival whatever the others are: q is not below what one of both gains.
  Set rivals(int v) const { return rivals_[v]; }
  // Places of which v may be a rival when gains have fallen.
  Set weak(int v) const { return weak_[v]; }

 private:
  int n_;
  std::vector<Integer> pairs_;
  std::vector<Set> attracted_, rivals_, weak_;
};

// The gains w_v = -u_v > 0 of some places, spread over cliques of rivals. A clique gains at most
// its weight, as each of its members but one pays for itself.
template <int Limbs, class Set>
class Cover {
 public:
  using Integer = Wide<Limbs>;

  struct Clique {
    Integer weight;
    Set members, common;  // its members, and the rivals of all of them
  };

  void build(const Couplings<Limbs, Set>& pairs, const std::vector<Integer>& linear, Set open) {
    cliques_.clear();
    total_ = Integer::zero();
    const Set gaining = weigh(pairs, linear, open);
    each_of(gaining, [&](int v) {
      const Set rivals = pairs.rivals(v) | weak_rivals(pairs, v, gaining);
      Integer left = gains_[v];
      for (auto& clique : cliques_) {
        if (!(clique.common >> v & 1)) continue;
        clique.members |= only<Set>(v);
        clique.common &= rivals;
        if (left <= clique.weight) return;
        left -= clique.weight;
      }
      cliques_.push_back({left, only<Set>(v), rivals});
      total_ += left;
    });
  }

  // What all together gain at most.
  const Integer& total() const { return total_; }
  const Integer& gain(int v) const { return gains_[v]; }
  const std::vector<Clique>& cliques() const { return cliques_; }

 private:
  // The places that gain.
  Set weigh(const Couplings<Limbs, Set>& pairs, const std::vector<Integer>& linear, Set open) {
    gains_.resize(linear.size());
    Set gaining = 0;
    each_of(open, [&](int v) {
      Integer gain = -linear[v];
      // A negative coupling is a gain of the later one of both.
      each_of(open & pairs.attracted(v) & (only<Set>(v) - 1), [&](int w) { gain -= pairs(v, w); });
      gains_[v] = gain;
      if (Integer::zero() < gain) gaining |= only<Set>(v);
    });
    return gaining;
  }

  // Those that are rivals for what both gain now.
  Set weak_rivals(const Couplings<Limbs, Set>& pairs, int v, Set gaining) const {
    Set found = 0;
    each_of(gaining & pairs.weak(v), [&](int w) {
      const Integer& q = pairs(v, w);
      if (gains_[v] <= q || gains_[w] <= q) found |= only<Set>(w);
    });
    return found;
  }

  std::vector<Clique> cliques_;
  std::vector<Integer> gains_;
  Integer total_ = Integer::zero();
};

}  // namespace hardscape::ising
