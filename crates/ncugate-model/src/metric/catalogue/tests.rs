use super::*;

const HOPPER: Option<ComputeCapability> = Some(ComputeCapability::new(9, 0));

/// Not in the captures; from NVIDIA's enumeration of the chip's metrics.
const NOT_CAPTURED: [&str; 15] = [
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "lts__d_sectors_fill_sysmem.sum",
    "nvlrx__bytes.sum",
    "nvltx__bytes.sum",
    "sm__ops_path_tensor_src_fp64.sum",
    "sm__ops_path_tensor_src_int1.sum",
    "sm__ops_path_tensor_src_int8.sum",
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp8.sum",
    "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
];

#[test]
fn the_embedded_file_parses_and_every_metric_says_what_it_is() {
    let catalogue = Catalogue::parse(EMBEDDED).unwrap();
    assert!(catalogue.metrics.len() > 80);
    for metric in &catalogue.metrics {
        assert!(metric.description.len() > 8 && !metric.title.is_empty(), "{}", metric.name);
        assert!(!is_ncu_metric(&metric.name), "{}", metric.name);
    }
}

#[test]
fn the_constants_are_the_names_of_the_catalogue() {
    let names: Vec<&str> = Catalogue::embedded().names().collect();
    assert_eq!(super::super::id::ALL.map(|id| id.name()).to_vec(), names);
    assert_eq!(super::super::id::LATENCY_P50.name(), "latency_p50");
}

#[test]
fn an_entry_says_what_it_is_computed_from() {
    let error = |more: &str| {
        let head = "[[metric]]\nname = 'm'\ntitle = 'M'\nunit = ''\nbetter = 'lower'\nkind = 'timing'\n";
        Catalogue::parse(&format!("{head}description = 'of a test'\n{more}")).unwrap_err()
    };
    for (entry, expected) in [
        ("source = 'latency'", "'m': missing field `statistic`"),
        ("source = 'latency'\nstatistic = 'p100'", "'m': `p100` is not a statistic"),
        ("source = 'latency'\nstatistic = 'p90'\nform = 'throughput'", "'m': throughput is computed from the median"),
        ("source = 'build'", "'m': unknown variant `m`"),
        ("source = 'build'\nfact = 'waves'", "'m': unknown variant `waves`"),
        ("source = 'check'\nfact = 'correct'\nstatistic = 'p50'", "'m': only a latency has a statistic"),
        ("source = 'ncu'\nncu = 'a__b'\nfact = 'waves'", "'m': a counter is not a fact"),
    ] {
        let error = error(entry);
        assert!(error.starts_with(expected), "{entry}: {error}");
    }
}

#[test]
fn places_are_in_order() {
    let shown = |place| Catalogue::embedded().shown(place).collect::<Vec<_>>();
    assert_eq!(shown(ShownIn::Lead)[..3], ["latency_p50", "latency_p90", "registers"]);
    assert_eq!(shown(ShownIn::Headline)[..2], ["latency_p50", "achieved_occupancy"]);
    assert_eq!((shown(ShownIn::Table).len(), shown(ShownIn::Table)[29]), (30, "dram_bytes"));
    assert_eq!((shown(ShownIn::Deep)[0], shown(ShownIn::Deep)[28]), ("sm_pct", "stall_barrier"));
}

#[test]
fn hopper_definitions_are_names_that_ncu_knows() {
    let known: std::collections::HashSet<&str> = include_str!("../../../../../tests/data/metric/h200-names.txt")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .collect();
    let catalogue = Catalogue::embedded();
    let mut counted = 0;
    for metric in &catalogue.metrics {
        let Ok(definition) = catalogue.definition(&metric.name, HOPPER) else { continue };
        for name in definition.metrics() {
            assert!(known.contains(name) || NOT_CAPTURED.contains(&name), "{}: {name}", metric.name);
            counted += 1;
        }
    }
    assert!(counted > 80, "{counted}");
}

#[test]
fn definitions_follow_the_chip() {
    let catalogue = Catalogue::embedded();
    let tensor = |cc| catalogue.definition("tensor_pct", cc).map(|d| d.metrics()[0].to_owned());
    assert!(tensor(HOPPER).unwrap().starts_with("sm__pipe_tensor_type_hmma_hgmma"));
    assert_eq!(
        tensor(Some(ComputeCapability::new(8, 9))).unwrap(),
        "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_elapsed"
    );
    assert_eq!(
        tensor(Some(ComputeCapability::new(10, 3))).unwrap(),
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
    );
    assert_eq!(tensor(Some(ComputeCapability::new(7, 0))), Err(MetricError::Chip { cc: ComputeCapability::new(7, 0) }));
    let absent = |name: &str, cc| matches!(catalogue.definition(name, cc), Err(MetricError::Absent { .. }));
    assert!(
        absent("dram_bytes", Some(ComputeCapability::new(12, 1)))
            && !absent("dram_bytes", Some(ComputeCapability::new(12, 0)))
    );
    let fp8 = |cc| catalogue.definition("tensor_ops_fp8", Some(cc)).map(|d| d.metrics().len());
    assert_eq!((fp8(ComputeCapability::new(10, 3)), fp8(ComputeCapability::new(8, 9))), (Ok(2), Ok(1)));
    assert!(absent("tensor_ops_fp8", Some(ComputeCapability::new(10, 0))), "10.3 differs from its family");
    assert!(
        absent("stall_gmma", Some(ComputeCapability::new(8, 9)))
            && absent("stall_imc_miss", Some(ComputeCapability::new(10, 0)))
    );
}

#[test]
fn a_metric_in_a_formula_stands_for_its_counters_on_the_chip() {
    let catalogue = Catalogue::embedded();
    let share = |name: &str, chip: (u32, u32)| match catalogue.definition(name, Some(chip.into())).map(|d| d.formula) {
        Ok(Formula::Share { part, whole, .. }) => (part, whole),
        other => panic!("{name}: {other:?}"),
    };
    let (part, whole) = share("tensor_dtype_fp4_pct", (10, 0));
    assert_eq!(part, ["sm__ops_path_tensor_src_fp4_dst_fp32.sum"]);
    assert!(whole.contains(&part[0]) && whole.contains(&"sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp16.sum".to_owned()));
    // 10.3 has no INT8 products of tcgen05, and 9.0 no FP4.
    assert!(share("tcgen05_pct", (10, 0)).0.iter().any(|name| name.contains("utcimma")));
    assert!(!share("tcgen05_pct", (10, 3)).0.iter().any(|name| name.contains("utcimma")));
    let absent = |name: &str, chip: (u32, u32)| {
        matches!(catalogue.definition(name, Some(chip.into())), Err(MetricError::Absent { .. }))
    };
    assert!(absent("tensor_dtype_fp4_pct", (9, 0)) && absent("tensor_dtype_fp8_pct", (10, 0)));
    assert!(absent("tcgen05_pct", (12, 0)) && absent("tcgen05_ops_i8", (10, 3)));
    // A name of the catalogue in a formula is a sum, else it would be left out silently.
    for metric in catalogue.metrics() {
        for formula in metric.formulas.values() {
            let names: Vec<&String> = match formula {
                Formula::Sum(names) | Formula::Product { names, .. } => names.iter().collect(),
                Formula::Share { part, whole, .. } => part.iter().chain(whole).collect(),
            };
            for known in names.into_iter().filter_map(|name| catalogue.get(name)) {
                let is_sum = known.formulas.values().all(|formula| matches!(formula, Formula::Sum(_)));
                assert!(is_sum && !known.formulas.is_empty(), "{} in {}", known.name, metric.name);
            }
        }
    }
}

#[test]
fn a_kernel_without_the_claimed_type_does_not_hold_it() {
    let definition = Catalogue::embedded().definition("tensor_dtype_fp4_pct", Some((10, 0).into())).unwrap();
    let counted = |fp4: f64, fp16: f64| {
        definition.evaluate(&|name| match name {
            "sm__ops_path_tensor_src_fp4_dst_fp32.sum" => Some(fp4),
            "sm__ops_path_tensor_src_fp16_dst_fp32.sum" => Some(fp16),
            _ => Some(0.0),
        })
    };
    assert_eq!((counted(99.0, 1.0).value(), counted(0.0, 8.0).value()), (Some(99.0), Some(0.0)));
    assert_eq!(counted(0.0, 0.0), crate::Cell::Undefined("no tensor operations".into()));
    assert_eq!(definition.evaluate(&|name| (!name.contains("int8")).then_some(1.0)).value(), None, "a type is unknown");
}

/// A chip that is not listed has no names, rather than those of its neighbours.
#[test]
fn every_chip_of_a_family_is_listed() {
    let listed: Vec<ComputeCapability> = super::super::known_chips().collect();
    for chip in (7..=13).flat_map(|major| (0..=9).map(move |minor| ComputeCapability::new(major, minor))) {
        assert_eq!(ChipFamily::of(chip).is_some(), listed.contains(&chip), "{chip}");
    }
}

#[test]
fn an_absent_metric_names_its_substitute() {
    let error = Catalogue::embedded().definition("dram_bytes", Some((12, 1).into())).unwrap_err().to_string();
    assert!(error.contains("on compute capability 12.1: the GPU uses system memory"), "{error}");
    let substitute = Catalogue::embedded().definition("sysmem_read_sectors", Some((12, 1).into())).unwrap();
    assert_eq!(substitute.metrics(), ["lts__d_sectors_fill_sysmem.sum"]);
    let error = Catalogue::embedded().definition("stall_gmma", Some((12, 1).into())).unwrap_err().to_string();
    assert_eq!(error, "metric `stall_gmma` does not exist on compute capability 12.1");
}

#[test]
fn unknown_uncounted_and_verbatim_names() {
    let catalogue = Catalogue::embedded();
    let error = catalogue.definition("eligable_warps", HOPPER).unwrap_err();
    assert_eq!(error.to_string(), "unknown metric `eligable_warps`; did you mean `eligible_warps`?");
    assert!(matches!(catalogue.definition("latency_p50", HOPPER), Err(MetricError::NotCounted { .. })));
    let verbatim = catalogue.definition("sm__warps_active.avg", Some(ComputeCapability::new(7, 0))).unwrap();
    assert_eq!(verbatim.metrics(), ["sm__warps_active.avg"]);
}

/// The share of time in which SMs have work is not the throughput of their busiest pipe.
#[test]
fn active_and_busy_are_two_counters() {
    let counters = |name: &str| {
        let definition = Catalogue::embedded().definition(name, HOPPER).unwrap();
        definition.metrics().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(counters("sm_active_pct"), ["smsp__cycles_active.avg.pct_of_peak_sustained_elapsed"]);
    assert_eq!(counters("sm_busy_pct"), ["sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"]);
}

#[test]
fn bank_conflicts_are_of_loads_over_wavefronts_of_loads() {
    let definition = Catalogue::embedded().definition("bank_conflict_pct", HOPPER).unwrap();
    let cell = definition.evaluate(&|name| Some(if name.contains("conflicts") { 2.0 } else { 4_194_304.0 }));
    assert_eq!(cell.value(), Some(100.0 * 2.0 / 4_194_304.0));
}

#[test]
fn a_misspelt_word_suggests_the_metric_that_leads() {
    let near = |typed| Catalogue::embedded().nearest(typed);
    assert_eq!(near("occupency"), Some("achieved_occupancy"));
    assert_eq!(near("latency"), Some("latency_p50"));
    assert_eq!(near("achieved_ocupancy"), Some("achieved_occupancy"));
    assert_eq!(near("qqqq"), None);
}
