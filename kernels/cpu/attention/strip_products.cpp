#include "kernels/cpu/attention/strip_products.h"

#include <algorithm>

#include "kernels/cpu/dnnl/dnnl_describe.h"

namespace mpc::kernels::cpu {

using dnnl::memory;

namespace {

MatrixLayout layout_of(const ProductOperand& operand) {
  if (operand.is_transposed) return {operand.dtype, 1, operand.stride};
  return {operand.dtype, operand.stride, 1};
}

memory::desc description_of(const ProductOperand& operand, int64_t rows,
                            int64_t columns) {
  const MatrixLayout layout = layout_of(operand);
  return memory::desc({rows, columns}, dnnl_type(operand.dtype),
                      memory::dims{layout.row_stride, layout.column_stride});
}

dnnl::matmul::primitive_desc describe_product(const dnnl::engine& engine,
                                              const StripProduct& p) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (p.accumulates) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  return describe<dnnl::matmul>(
      engine, attributes, description_of(p.lhs, p.m, p.k),
      description_of(p.rhs, p.k, p.n), description_of(p.result, p.m, p.n));
}

}  // namespace

StripProducts::StripProducts(
    const std::vector<std::vector<StripProduct>>& lists, bool uses_dnnl,
    int workers)
    : lists_(lists), uses_dnnl_(uses_dnnl) {
  if (uses_dnnl)
    make_calls(workers);
  else
    make_gemms();
}

void StripProducts::make_gemms() {
  name_ = std::string("gemm:") + gemm_instructions();
  std::array<size_t, kMaxProducts> bytes = {};
  for (const std::vector<StripProduct>& list : lists_) {
    std::vector<Gemm>& gemms = gemms_.emplace_back();
    for (const StripProduct& p : list) {
      size_t& most = bytes[gemms.size()];
      gemms.emplace_back(GemmShape{p.m, p.n, p.k, layout_of(p.lhs),
                                   layout_of(p.rhs), layout_of(p.result),
                                   p.accumulates});
      most = std::max(most, gemms.back().scratch_bytes());
    }
  }
  ScratchLayout layout;
  for (size_t i = 0; i < kMaxProducts; ++i)
    scratch_offsets_[i] = layout.add(bytes[i]).offset;
  scratch_bytes_ = layout.size();
}

void StripProducts::make_calls(int workers) {
  // The primitives are for one thread.
  const ThreadScope scope(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::vector<std::vector<dnnl::matmul::primitive_desc>> descriptions;
  for (const std::vector<StripProduct>& list : lists_) {
    descriptions.emplace_back();
    for (const StripProduct& product : list) {
      descriptions.back().push_back(describe_product(engine, product));
      scratch_bytes_ =
          std::max(scratch_bytes_,
                   descriptions.back().back().scratchpad_desc().get_size());
    }
  }
  for (const dnnl::matmul::primitive_desc& pd : descriptions.back())
    if (const std::string name = pd.impl_info_str();
        name_.find(name) == std::string::npos)
      name_ += (name_.empty() ? "" : ", ") + name;
  for (int worker = 0; worker < workers; ++worker) {
    calls_.emplace_back();
    for (size_t list = 0; list < lists_.size(); ++list) {
      calls_.back().emplace_back();
      for (size_t i = 0; i < lists_[list].size(); ++i) {
        const StripProduct& product = lists_[list][i];
        const auto& pd = descriptions[list][i];
        DnnlCall call(engine, make_primitive<dnnl::matmul>(pd));
        call.bind(DNNL_ARG_SRC, pd.src_desc(), {product.lhs.buffer});
        call.bind(DNNL_ARG_WEIGHTS, pd.weights_desc(), {product.rhs.buffer});
        call.bind(DNNL_ARG_DST, pd.dst_desc(), {product.result.buffer});
        if (pd.scratchpad_desc().get_size() != 0)
          call.bind(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), {kScratchpad});
        calls_.back().back().push_back(std::move(call));
      }
    }
  }
}

bool StripProducts::Run::multiply(size_t list, size_t index) {
  if (products_.uses_dnnl_)
    return products_.calls_[static_cast<size_t>(worker_)][list][index].run(
        buffers_, nullptr);
  const StripProduct& product = products_.lists_[list][index];
  const Gemm& gemm = products_.gemms_[list][index];
  const void* rhs = buffers_[product.rhs.buffer];
  Previous& previous = previous_[index];
  gemm.run(buffers_[product.lhs.buffer], rhs, buffers_[product.result.buffer],
           static_cast<char*>(buffers_[kScratchpad]) +
               products_.scratch_offsets_[index],
           previous.rhs == rhs ? previous.gemm : nullptr);
  previous = {&gemm, rhs};
  return true;
}

}  // namespace mpc::kernels::cpu
