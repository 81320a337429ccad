"""The table of names: where each name of Theano's modules comes from, or why it is not there. Pure data.

The blocks of the language (theano.tensor and the like) are in `names_language.py`.

A block is one of Theano's modules. A line is `source: names`; `name=other` says what the source calls it, and
`name=.` is the source itself. Sources are the short names below or files of this package (`layers`); `as` takes all
that another block has; `!reason` lists what is refused, with the sentence of `REFUSALS`.
"""

from termgraph.theano.names_language import LANGUAGE

SOURCES = {
    "tg": "termgraph",
    "T": "termgraph.tensor",
    "nnet": "termgraph.tensor.nnet",
    "linalg": "termgraph.tensor.linalg",
    "sp": "termgraph.sparse",
    "terms": "termgraph.terms",
    "types": "termgraph.terms.types",
    "errors": "termgraph.terms.errors",
    "ew": "termgraph.terms.ops.elementwise",
    "graph": "termgraph.tensor.graph",
    "shared": "termgraph.tensor.sharedvar",
    "function": "termgraph.function",
    "inout": "termgraph.function.inout",
    "marks": "termgraph.grad.marks",
    "own": "termgraph.grad.user_defined",
    "verify": "termgraph.function.verify",
    "userop": "termgraph.tensor.userop",
    "debug": "termgraph.debug",
    "checked": "termgraph.debug.checked",
    "numpy": "numpy",
}

REFUSALS = {
    "cuda_back_end": "this is Theano's old GPU back end; termgraph runs the same graph on a GPU when "
    "theano.config.device = 'cuda' is set, with no other change to the program",
    "gpuarray": "these are internals of Theano's GPU back end; write the graph with theano.tensor and set "
    "theano.config.device = 'cuda': termgraph makes the kernels",
    "rewriting": "this is a rewriting or a database of Theano's optimizer; termgraph's rules are data: see "
    "`termgraph rules list` and docs/rules.md for writing one in a line",
    "inner_op": "this op appears only inside Theano's own compiled graphs; write the function of theano.tensor instead",
    "compiler": "this is a part of Theano's C code generator; termgraph's is in termgraph.backends.c",
    "mpi": "arrays are not sent over MPI from inside a graph; exchange get_value() and set_value() with mpi4py",
    "ctc": "the loss is an expression here, not an op of a library: call ctc, or termgraph's T.nnet.ctc_loss",
    "random_op": "draws are element-wise formulas here, not calls of NumPy's generator: use RandomStreams",
    "bsr": "sparse matrices are CSR or CSC here; convert with .tocsr()",
    "sampler": "this sampler of sparse matrices is not there; draw dense numbers with RandomStreams",
    "local": "this is a part of how Theano runs graphs; termgraph's machine is `f.vm`, its program `f.source('py')`",
}

MODULES: dict[str, str] = {
    "": """
        compiling: function function_dump shared Mode In Out Param FunctionMaker predefined_modes predefined_linkers
        compiling: predefined_optimizers ProfileStats SymbolicInput SymbolicOutput sparse_grad
        compiling: CLinker OpWiseCLinker DualLinker Linker LocalLinker PerformLinker
        function: OpFromGraph
        userop: as_op
        shared: Container
        language: get_scalar_constant_value
        language: dot OrderedUpdates
        tg: scan map reduce foldl foldr scan_checkpoints
        walking: clone
        gradients: grad Rop Lop subgraph_grad
        showing: pp pprint pydotprint dprint=debugprint
        flags: config change_flags
        tg: Variable Constant Apply FunctionGraph Type
        writing: Op OpenMPOp
        walking: InconsistencyError
        tools: Generic generic object2
        gof.toolbox: toolbox=.
        gof.opt: opt=.
        gof.utils: utils=.
        logs: theano_logger logging_default_handler logging_default_formatter disable_log_handler
        loading: _asarray
        language: TensorType
        language: PY3 rpath has_handlers __version__
    """,
    "version": "language: version=__version__ short_version=__version__ full_version=__version__ git_revision",
    "updates": "language: OrderedUpdates",
    "raise_op": "language: Raise",
    "pathparse": "flags: PathParser",
    # ------------------------------------------------------------------ flags
    "configdefaults": """
        flags: config floatX_convert DeviceParam default_compiledirname default_blas_ldflags
        flags: local_bitwidth python_int_bitwidth
    """,
    "configparser": """
        flags: config change_flags TheanoConfigParser TheanoConfigWarning THEANO_FLAGS THEANO_FLAGS_DICT AddConfigVar
        flags: ConfigParam EnumStr TypedParam StrParam IntParam FloatParam BoolParam get_config_hash
        flags: parse_config_string config_files_from_theanorc fetch_val_for_key
    """,
    # ------------------------------------------------------------------ compiling
    "compile": """
        as: compile.function compile.io compile.mode compile.sharedvalue compile.ops compile.builders
        as: compile.debugmode compile.monitormode compile.profiling compile.pfunc compile.function_module
        compiling: function
        flags: config
    """,
    "compile.function": "compiling: function function_dump",
    "compile.io": "compiling: In Out SymbolicInput SymbolicOutput",
    "compile.mode": """
        compiling: Mode predefined_modes predefined_linkers predefined_optimizers FAST_RUN FAST_COMPILE get_mode
        compiling: get_default_mode register_mode register_linker register_optimizer instantiated_default_mode
        compiling: OPT_NONE OPT_MERGE OPT_FAST_RUN OPT_FAST_RUN_STABLE OPT_FAST_COMPILE OPT_STABILIZE OPT_O2 OPT_O3
        compiling: OPT_UNSAFE exclude
        rewriting: optdb
        !rewriting: AddDestroyHandler AddFeatureOptimizer PrintCurrentFunctionGraph local_useless
    """,
    "compile.sharedvalue": """
        shared: SharedVariable generic_constructor
        tools: generic
        compiling: shared shared_constructor
    """,
    "compile.ops": """
        userop: FromFunctionOp as_op
        language: shape shape_i view_op deep_copy_op specify_shape
        classes: ViewOp DeepCopyOp Shape Shape_i Rebroadcast SpecifyShape OutputGuard
        language: expandable_types load_back
        !compiler: register_view_op_c_code register_deep_copy_op_c_code register_shape_c_code register_shape_i_c_code
        !compiler: register_rebroadcast_c_code register_specify_shape_c_code shape_i_op
    """,
    "compile.builders": """
        function: OpFromGraph
        !rewriting: inline_ofg_expansion
    """,
    "compile.debugmode": """
        compiling: DebugMode
        checked: DebugModeError InvalidValueError=BadOutput BadThunkOutput=BadOutput BadOptimization=BadRewrite
        checked: BadDestroyMap=BadInPlace BadViewMap=BadInPlace StochasticOrder=DebugModeError
        showing: debugprint
        !local: DataDestroyed data_destroyed check_eq default_make_thunk char_from_number NoDuplicateOptWarningFilter
    """,
    "compile.monitormode": """
        compiling: MonitorMode detect_nan
    """,
    "compile.nanguardmode": """
        compiling: NanGuardMode
        checks: flatten contains_nan contains_inf
        logs: logger=theano_logger
        !gpuarray: f_compute f_gpua_min f_gpua_max f_gpua_absmax
    """,
    "compile.pfunc": """
        compiling: Param pfunc iter_over_pairs
        function: rebuild_collect_shared
        inout: _pfunc_param_to_in
    """,
    "compile.profiling": """
        compiling: ProfileStats ScanProfileStats register_profiler_printer print_global_stats
    """,
    "compile.function_module": """
        errors: UnusedInputError
        function: Function
        compiling: FunctionMaker orig_function get_info_on_inputs check_equal register_checker
        inout: convert_function_input
        !local: alias_root view_tree_set infer_reuse_pattern fgraph_updated_vars Supervisor std_fgraph insert_deepcopy
        !local: AliasedMemoryError DUPLICATE NODEFAULT
    """,
    "compile.sandbox": "",
    # ------------------------------------------------------------------ graphs
    "gof": """
        !local: DestroyHandler
        as: gof.graph gof.fg gof.op gof.type gof.link gof.toolbox gof.opt gof.optdb gof.params_type gof.utils gof.cc
        as: gof.null_type
    """,
    "gof.graph": """
        tg: Apply Variable Constant
        walking: ancestors inputs variables ops orphans variables_and_orphans clone clone_get_equiv general_toposort
        walking: io_toposort is_same_graph is_same_graph_with_merge equal_computations op_as_string as_string
        walking: view_roots list_of_nodes is_in_ancestors nodes_constructed stack_search Node NoParams
        walking: io_connection_pattern default_leaf_formatter default_node_formatter
    """,
    "gof.fg": """
        tg: FunctionGraph MissingInputError
        walking: InconsistencyError CachedConstantError
        tools: NullType
    """,
    "gof.op": """
        writing: Op PureOp CLinkerOp CLinkerObject OpenMPOp COp ops_with_inner_function simple_meth apply_meth
        T: get_test_value
        language: get_debug_values debug_assert debug_error_message missing_test_message
    """,
    "gof.type": """
        types: Type PureType=Type CLinkerType=Type SingletonType=Type
        tools: Generic generic CDataType CDataTypeConstant EnumType EnumList CEnumType
    """,
    "gof.link": """
        compiling: Linker LocalLinker PerformLinker WrapLinker WrapLinkerMany
        shared: Container
        !local: map_storage streamline gc_helper add_clear_storage raise_with_op thunk_hook log_thunk_trace
    """,
    "gof.cc": """
        compiling: CLinker OpWiseCLinker DualLinker HideC
        !compiler: CodeBlock failure_code failure_code_init code_gen struct_gen get_c_declare get_c_init get_c_extract
        !compiler: get_c_sync get_c_cleanup get_nothing apply_policy get_module_cache get_persistent_module_cache
        !compiler: get_c_extract_out struct_variable_codeblocks run_cthunk
    """,
    "gof.vm": """
        compiling: VM_Linker
        !local: VM Loop LoopGC Stack calculate_reallocate_info
    """,
    "gof.null_type": "tools: NullType null_type",
    "gof.params_type": "tools: Params ParamsType",
    "gof.optdb": """
        rewriting: Query DB EquilibriumDB SequenceDB LocalGroupDB TopoDB ProxyDB
    """,
    "gof.toolbox": """
        rewriting: Feature Bookkeeper History Validator ReplaceValidate NodeFinder PrintListener AlreadyThere
        rewriting: ReplacementDidntRemovedError BadOptimization NoOutputFromInplace PreserveNames GetCheckpoint
        rewriting: PreserveVariableAttributes LambdExtract
    """,
    "gof.opt": """
        rewriting: Optimizer LocalOptimizer optimizer inplace_optimizer local_optimizer PatternSub OpSub OpRemove
        rewriting: out2in in2out copy_stack_trace inherit_stack_trace check_stack_trace
        rewriting: SeqOptimizer MergeOptimizer LocalOptGroup NavigatorOptimizer TopoOptimizer EquilibriumOptimizer
        rewriting: OpKeyOptimizer FromFunctionOptimizer FromFunctionLocalOptimizer
        walking: is_same_graph_with_merge
        !rewriting: MergeFeature pre_constant_merge LocalMetaOptimizer Updater ChangeTracker merge_dict check_chain
        !rewriting: pre_greedy_local_optimizer CheckStackTraceOptimization CheckStrackTraceFeature
        !rewriting: GraphToGPULocalOptGroup LocalMetaOptimizerSkipAssertionError
    """,
    "gof.utils": """
        tools: MethodNotDefined object2 scratchpad uniq difference to_return_values from_return_values toposort
        walking: give_variables_names
        tools: memoize deprecated flatten unique hist remove hashtype undef MetaObject D
        tools: hash_from_file add_tag_trace get_variable_trace_string simple_extract_stack Keyword ABORT RETRY FAILURE
        tools: simple_types ANY_TYPE FALL_THROUGH comm_guard type_guard
    """,
    "gof.sched": "walking: sort_apply_nodes sort_schedule_fn posort key_to_cmp make_dependence_cmp reverse_dict",
    "gof.destroyhandler": "!local: DestroyHandler ProtocolError fast_inplace_check",
    "gof.cmodule": "!compiler: ModuleCache Compiler GCC_compiler DynamicModule ExtFunction gcc_version",
    "gof.compilelock": "caching: force_unlock lock_ctx get_lock release_lock set_lock_status Unlocker",
    "gof.compiledir": """
        caching: cleanup print_compiledir_content compiledir_purge basecompiledir_ls basecompiledir_purge
    """,
    "gof.callcache": "tools: CallCache",
    "gof.unify": """
        !rewriting: Variable FreeVariable BoundVariable OrVariable NotVariable Unification unify unify_walk unify_merge
        !rewriting: Var V OrV NV FVar
    """,
    # ------------------------------------------------------------------ gradients, loops, choices
    "gradient": """
        gradients: grad Rop Lop subgraph_grad jacobian hessian verify_grad numeric_grad format_as mode_not_slow
        gradients: disconnected_type grad_time DisconnectedType
        marks: consider_constant zero_grad disconnected_grad undefined_grad grad_clip grad_scale
        marks: consider_constant_=consider_constant zero_grad_=zero_grad disconnected_grad_=disconnected_grad
        marks: undefined_grad_=undefined_grad
        own: grad_not_implemented grad_undefined
        verify: GradientError
        errors: NullTypeGradError DisconnectedInputError
        classes: ConsiderConstant ZeroGrad UndefinedGrad DisconnectedGrad GradClip GradScale
    """,
    "ifelse": """
        choosing: ifelse
        classes: IfElse
        !rewriting: CondMerge cond_make_inplace cond_merge_ifs_true cond_merge_ifs_false cond_remove_identical
        !rewriting: cond_merge_random_op acceptable_ops ifelse_lift_single_if_through_acceptable_ops
    """,
    "scan_module": """
        as: scan_module.scan scan_module.scan_views scan_module.scan_checkpoints
        walking: clone
        tg: until
    """,
    "scan_module.scan": "tg: scan",
    "scan_module.scan_views": "tg: map reduce foldl foldr",
    "scan_module.scan_checkpoints": "tg: scan_checkpoints",
    "scan_module.scan_op": """
        classes: Scan
        !local: profile_printer
    """,
    "scan_module.scan_utils": """
        tg: until
        walking: clone equal_computations traverse map_variables safe_new hash_listsDictsTuples
        loopparts: get_updates_and_outputs isNaN_or_Inf_or_None expand_empty DEPRECATED_ARG reconstruct_graph
        loopparts: forced_replace infer_shape
        !inner_op: scan_args scan_can_remove_outs compress_outs Validator
    """,
    "scan_module.scan_opt": """
        !rewriting: PushOutNonSeqScan PushOutSeqScan PushOutScanOutput ScanInplaceOptimizer ScanSaveMem ScanMerge
        !rewriting: PushOutDot1 remove_constants_and_unused_inputs_scan scan_merge_inouts scan_eqopt1 scan_eqopt2
    """,
    # ------------------------------------------------------------------ looking
    "printing": """
        showing: Print debugprint dprint=debugprint pp pprint pydotprint min_informative_str var_descriptor
        showing: hex_digest position_independent_str pydot_imported pydot_imported_msg default_colorCodes use_ascii
        showing: PPrinter PrinterState OperatorPrinter PatternPrinter FunctionPrinter IgnorePrinter DefaultPrinter
        showing: LeafPrinter default_printer leaf_printer VALID_ASSOC
    """,
    "d3viz": "as: d3viz.d3viz",
    "d3viz.d3viz": """
        showing: d3viz d3write
        !local: replace_patterns safe_json
    """,
    "d3viz.formatting": """
        showing: PyDotFormatter var_label apply_label
        !local: var_tag apply_profile broadcastable_to_str dtype_to_char type_to_str dict_to_pdnode
    """,
    # ------------------------------------------------------------------ the rest
    "sandbox": "",
    "sandbox.rng_mrg": """
        streams: MRG_RandomStreams guess_n_streams
        !random_op: mrg_uniform mrg_uniform_base mrg_next_value DotModulo multMatVect matVecModM mrg_random_make_inplace
    """,
    "sandbox.multinomial": "!random_op: MultinomialFromUniform ChoiceFromUniform MultinomialWOReplacementFromUniform",
    "sandbox.linalg": "as: sandbox.linalg.ops",
    "sandbox.linalg.ops": """
        linear: psd spectral_radius_bound trace diag alloc_diag extract_diag=diag solve cholesky eigvalsh eigh
        linalg: matrix_inverse det eig
        !rewriting: Hint hints is_hint_node remove_hint_nodes HintsFeature HintsOptimizer is_psd is_symmetric
        !rewriting: is_positive transinv_to_invtrans inv_as_solve tag_solve_triangular no_transpose_symmetric
        !rewriting: psd_solve_with_chol
        !rewriting: local_det_chol local_log_prod_sqr local_log_pow
    """,
    "sandbox.neighbours": "as: tensor.nnet.neighbours",
    "sandbox.softsign": "nnet: softsign",
    "sandbox.conv": "",
    "sandbox.blocksparse": "as: tensor.nnet.blocksparse",
    "sandbox.fourier": """
        fourier: fft
        !inner_op: FFT half_fft ifft half_ifft dct_matrix
    """,
    "sandbox.solve": "linear: solve",
    "sandbox.minimal": "!inner_op: Minimal minimal",
    "sandbox.cuda": """
        gpu: cuda_available cuda_enabled cuda_ndarray_available use unuse handle_shared_float32
        !cuda_back_end: *
    """,
    "sandbox.cuda.basic_ops": """
        gpu: gpu_contiguous gpu_from_host host_from_gpu as_cuda_ndarray_variable
        !cuda_back_end: *
    """,
    "sandbox.cuda.dnn": """
        gpu: dnn_available version
        !cuda_back_end: *
    """,
    "sandbox.cuda.var": "!cuda_back_end: *",
    "sandbox.cuda.blas": "!cuda_back_end: *",
    "sandbox.cuda.rng_curand": "!cuda_back_end: *",
    "sandbox.gpuarray": "!gpuarray: *",
    "gpuarray": """
        gpu: pygpu_activated use
        !gpuarray: *
    """,
    **{
        f"gpuarray.{m}": "!gpuarray: *"
        for m in (
            "basic_ops",
            "blas",
            "ctc",
            "elemwise",
            "extra_ops",
            "fft",
            "linalg",
            "multinomial",
            "neighbours",
            "nnet",
            "op",
            "opt",
            "pool",
            "rng_mrg",
            "sort",
            "subtensor",
            "type",
            "tests",
        )
    },
    "gpuarray.dnn": """
        gpu: dnn_available version
        !gpuarray: *
    """,
    "misc": "",
    "misc.pkl_utils": """
        loading: dump load Pickler StripPickler CompatUnpickler min_recursion PersistentNdarrayID
        loading: PersistentSharedVariableID PersistentNdarrayLoad
        !gpuarray: PersistentGpuArrayID
        !local: load_reduce zipadd
    """,
    "misc.ordered_set": "loading: OrderedSet check_deterministic",
    "misc.frozendict": "loading: frozendict FrozenOrderedDict",
    "misc.safe_asarray": "loading: _asarray",
    "misc.may_share_memory": "loading: may_share_memory",
    "misc.strutil": "loading: render_string pretty_format strip_leading_white_space",
    "misc.cpucount": "loading: cpuCount",
    "misc.windows": "loading: subprocess_Popen call_subprocess_Popen output_subprocess_Popen",
    "misc.doubleop": "loading: DoubleOp",
    "compat": """
        loading: PY3 DefaultOrderedDict OrderedDict izip imap ifilter cmp operator_div exc_message BytesIO
    """,
    "tests": "checking: *",
    "tests.unittest_tools": "checking: *",
    "tests.disturb_mem": "checking: disturb_mem",
    **LANGUAGE,
}
