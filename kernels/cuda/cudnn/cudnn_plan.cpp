#include "kernels/cuda/cudnn/cudnn_plan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/autotune_buffers.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

using namespace cuda;

// Maximum number of plans to make and time; some take a second to compile.
constexpr size_t kCandidates = 8;
constexpr int64_t kMaxWorkspace = int64_t{1} << 30;

class GraphPlan final : public CudnnPlan {
 public:
  GraphPlan(const CudaContext& context, cudnnHandle_t handle,
            const PlanRequest& request, int64_t engine)
      : library_(*context.cudnn),
        handle_(handle),
        uids_(request.uids),
        engine_(engine) {
    for (const auto& [uid, value] : request.scalars) {
      uids_.push_back(uid);
      scalars_.push_back(value);
    }
  }

  // Makes the plan of an engine configuration. Returns what failed, or "";
  // after a failure there is no plan.
  std::string finalize(CudnnDescriptor config) {
    config_.emplace(std::move(config));
    return finalize([&](CudnnCalls* calls, const CudnnDescriptor& plan) {
      plan.set(calls, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, *config_);
    });
  }
  // Makes the plan from the result of serialize(), possibly of an earlier
  // process.
  std::string restore(const std::string& json) {
    return finalize([&](CudnnCalls* calls, const CudnnDescriptor& plan) {
      plan.set(calls, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
               CUDNN_TYPE_CHAR, static_cast<int64_t>(json.size()), json.data());
    });
  }
  // The plan as text, including code compiled for it; empty if the library does
  // not support it.
  std::string serialize() const {
    int64_t count = 0;
    std::string json;
    const auto get = [&](int64_t room, char* text) {
      return library_.cudnnBackendGetAttribute(
                 plan_->get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                 CUDNN_TYPE_CHAR, room, &count, text) == CUDNN_STATUS_SUCCESS;
    };
    if (!get(0, nullptr) || count <= 0) return "";
    json.resize(static_cast<size_t>(count));
    if (!get(count, json.data())) return "";
    json.resize(static_cast<size_t>(count));
    while (!json.empty() && json.back() == 0) json.pop_back();
    return json;
  }

  int64_t engine() const { return engine_; }

  void say(std::string how) { how_ = std::move(how); }
  std::string description() const override {
    return "engine " + std::to_string(engine_) + ", " + how_;
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(workspace_bytes_);
  }

  std::string run(const CUdeviceptr* tensors, CUdeviceptr workspace,
                  CUstream stream) const override {
    // Tensors passed by value are read from host memory during this call.
    const size_t in_memory = uids_.size() - scalars_.size();
    std::vector<const void*> pointers;
    for (size_t i = 0; i < in_memory; ++i)
      pointers.push_back(reinterpret_cast<const void*>(tensors[i]));
    for (const float& scalar : scalars_) pointers.push_back(&scalar);
    void* const scratch = reinterpret_cast<void*>(workspace);
    const int64_t count = static_cast<int64_t>(uids_.size());
    CudnnCalls calls(library_);
    const CudnnDescriptor pack(&calls, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(&calls, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
             count, uids_.data());
    pack.set(&calls, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             count, pointers.data());
    pack.set(&calls, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
             &scratch);
    pack.finalize(&calls);
    if (calls.ok())
      calls.check("cudnnSetStream", library_.cudnnSetStream(handle_, stream));
    if (calls.ok())
      calls.check(
          "cudnnBackendExecute",
          library_.cudnnBackendExecute(handle_, plan_->get(), pack.get()));
    return calls.error();
  }

 private:
  // `source` sets the attributes from which the plan is made.
  template <typename Source>
  std::string finalize(const Source& source) {
    CudnnCalls calls(library_);
    CudnnDescriptor plan(&calls, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(&calls, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
             &handle_);
    source(&calls, plan);
    plan.finalize(&calls);
    int64_t count = 0;
    if (calls.ok())
      calls.check("cudnnBackendGetAttribute",
                  library_.cudnnBackendGetAttribute(
                      plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                      CUDNN_TYPE_INT64, 1, &count, &workspace_bytes_));
    if (calls.ok() && workspace_bytes_ > kMaxWorkspace)
      return "a workspace of more than 1 GiB";
    if (calls.ok()) plan_.emplace(std::move(plan));
    return calls.error();
  }

  const Cudnn& library_;
  const cudnnHandle_t handle_;
  std::vector<int64_t> uids_;  // Those in memory, then those by value.
  std::vector<float> scalars_;
  const int64_t engine_;
  std::optional<CudnnDescriptor> config_;  // None for a restored plan.
  std::optional<CudnnDescriptor> plan_;
  int64_t workspace_bytes_ = 0;
  std::string how_;
};

using Plans = std::vector<std::shared_ptr<GraphPlan>>;

// Adds plans for the usable engine configurations of this mode. Returns the
// last failure of the others.
std::string add_plans(const CudaContext& context, cudnnHandle_t handle,
                      const PlanRequest& request, const CudnnGraph& graph,
                      cudnnBackendHeurMode_t mode, size_t most, Plans* plans) {
  CudnnCalls calls(*context.cudnn);
  std::vector<CudnnDescriptor> configs =
      engine_configs(&calls, graph.graph(), mode);
  std::string error = calls.error();
  for (CudnnDescriptor& config : configs) {
    if (!calls.ok() || plans->size() >= most) break;
    CudnnCalls about(*context.cudnn);
    const EngineFacts facts = engine_facts(&about, config);
    if (!about.ok()) {
      error = about.error();
      continue;
    }
    const bool unfit =
        std::any_of(facts.notes.begin(), facts.notes.end(),
                    [&](cudnnBackendNumericalNote_t note) {
                      return request.is_unfit(note) ||
                             (context.deterministic &&
                              note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
                    });
    if (unfit) continue;
    auto plan =
        std::make_shared<GraphPlan>(context, handle, request, facts.index);
    const std::string failure = plan->finalize(std::move(config));
    if (failure.empty())
      plans->push_back(std::move(plan));
    else
      error = failure;  // Often an engine that the device cannot run.
  }
  return error;
}

// Runs the plan once. Returns what failed; "" also if the device has no memory
// for the run.
std::string warm_up(const CudaContext& context, const PlanRequest& request,
                    const CudnnPlan& plan) {
  std::string no_room;
  const std::unique_ptr<AutotuneBuffers> buffers = AutotuneBuffers::make(
      context, request.tensors, plan.workspace_bytes(), false, &no_room);
  if (!buffers) return "";
  return buffers->warm_up([&](CUstream stream) {
    return plan.run(buffers->operands(), buffers->workspace(), stream);
  });
}

// The plan that an earlier trial chose; null if there is none, or if it no
// longer runs.
std::shared_ptr<const CudnnPlan> restore_plan(const CudaContext& context,
                                              cudnnHandle_t handle,
                                              const PlanRequest& request,
                                              const StoredChoice& stored) {
  const std::optional<std::string> text = stored.find();
  if (!text) return nullptr;
  const size_t space = text->find(' ');
  if (space == std::string::npos) return nullptr;
  const int64_t engine = std::strtoll(text->c_str(), nullptr, 10);
  auto plan = std::make_shared<GraphPlan>(context, handle, request, engine);
  if (!plan->restore(text->substr(space + 1)).empty()) return nullptr;
  plan->say("the fastest of an earlier trial");
  if (!warm_up(context, request, *plan).empty()) return nullptr;
  return plan;
}

void store_plan(const GraphPlan& plan, const StoredChoice& stored) {
  const std::string json = plan.serialize();
  if (!json.empty()) stored.store(std::to_string(plan.engine()) + " " + json);
}

// The fastest of the plans, or null and what failed. Stores the choice if plans
// were timed.
std::shared_ptr<const CudnnPlan> fastest(const CudaContext& context,
                                         const PlanRequest& request,
                                         const Plans& plans,
                                         const StoredChoice& stored,
                                         std::string* error) {
  size_t workspace = 0;
  for (const auto& plan : plans)
    workspace = std::max(workspace, plan->workspace_bytes());
  const std::unique_ptr<AutotuneBuffers> buffers =
      AutotuneBuffers::make(context, request.tensors, workspace, true, error);
  if (!buffers) {
    plans[0]->say("first of the heuristic, as a trial failed: " + *error);
    return plans[0];
  }
  double best = std::numeric_limits<double>::infinity();
  std::shared_ptr<const GraphPlan> result;
  std::string first_error;
  for (const auto& plan : plans) {
    double microseconds;
    bool fatal;
    *error = buffers->time(
        [&](CUstream stream) {
          return plan->run(buffers->operands(), buffers->workspace(), stream);
        },
        best, &microseconds, &fatal);
    if (fatal) return nullptr;
    if (!error->empty()) {
      if (first_error.empty()) first_error = *error;
      continue;
    }
    if (microseconds >= best) continue;
    best = microseconds;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f us, fastest of %zu", best,
                  plans.size());
    plan->say(text);
    result = plan;
  }
  *error = first_error;
  if (!result) return nullptr;
  error->clear();
  store_plan(*result, stored);
  return result;
}

}  // namespace

std::shared_ptr<const CudnnPlan> find_cudnn_plan(const CudaContext& context,
                                                 const PlanRequest& request,
                                                 const MakeGraph& make_graph,
                                                 bool* unsupported,
                                                 std::string* error) {
  *unsupported = false;
  const cudnnHandle_t handle = context.shared->cudnn_handle(context, error);
  if (!handle) return nullptr;
  const std::string key =
      request.key + (context.deterministic ? " deterministic" : "");
  std::shared_ptr<const CudnnPlan>& known = context.shared->cudnn_plans[key];
  if (known) return known;
  const StoredChoice stored =
      choice_in_folder(context, "cudnn", context.cudnn->cudnnGetVersion(), key);
  if (!context.deterministic)
    known = restore_plan(context, handle, request, stored);
  if (known) return known;

  CudnnCalls calls(*context.cudnn);
  const CudnnGraph graph = make_graph(&calls, handle);
  *unsupported = true;
  *error = calls.error();
  if (!calls.ok()) return nullptr;
  Plans plans;
  // Timings, and thus choices, would differ from run to run.
  const size_t most = context.deterministic ? 1 : kCandidates;
  std::string why;
  for (cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const std::string failure =
        add_plans(context, handle, request, graph, mode, most, &plans);
    if (!failure.empty()) why = failure;
  }
  if (plans.empty()) {
    *error = "cuDNN has no engine for " + key + " that sums in f32";
    if (!why.empty()) *error += ": " + why;
    return nullptr;
  }
  *unsupported = false;
  if (context.deterministic) {
    plans[0]->say("first of the heuristic, for the same bits in every run");
    *error = warm_up(context, request, *plans[0]);
    if (error->empty()) known = plans[0];
  } else {
    known = fastest(context, request, plans, stored, error);
  }
  return known;
}

}  // namespace mpc::kernels
