"""Tuning of schedules: knobs, tasks, measurements in child processes, searches, and databases of results.

A schedule calls `get_config` for its configuration and defines knobs in it. `create_task` creates a task from a
schedule, `extract_tasks` creates the tasks of a module's strategies. `tune` searches for the best values on a set of
sizes, and `apply_history_best` applies them to schedules that are created later.
"""

from relax_mlir.strategy.knobs import Config, Knob, Split, configured, get_config
from relax_mlir.strategy.shipped import Shipped, shipped
from relax_mlir.strategy.size_table import SizeRow, SizeTable
from relax_mlir.tuning.dask_workers import DaskWorkers
from relax_mlir.tuning.database import Database, Record, TableRecord, apply_history_best
from relax_mlir.tuning.find_table import FoundTable, find_table
from relax_mlir.tuning.measure import LocalWorkers, Measurement, SizeTime, Workers
from relax_mlir.tuning.model_search import ModelSearch
from relax_mlir.tuning.optuna_search import OptunaSearch
from relax_mlir.tuning.search import EvolutionarySearch, RandomSearch, Search
from relax_mlir.tuning.shared_budget import TaskOutcome, TaskStep, tune_tasks
from relax_mlir.tuning.task import Task, create_task, extract_tasks
from relax_mlir.tuning.tiled_schedule import tiled_schedule
from relax_mlir.tuning.tune import tune
from relax_mlir.tuning.tuning_run import TuningResult, TuningRun

__all__ = [
    "Config",
    "DaskWorkers",
    "Database",
    "EvolutionarySearch",
    "FoundTable",
    "Knob",
    "LocalWorkers",
    "Measurement",
    "ModelSearch",
    "OptunaSearch",
    "RandomSearch",
    "Record",
    "Search",
    "Shipped",
    "SizeRow",
    "SizeTable",
    "SizeTime",
    "Split",
    "TableRecord",
    "Task",
    "TaskOutcome",
    "TaskStep",
    "TuningResult",
    "TuningRun",
    "Workers",
    "apply_history_best",
    "configured",
    "create_task",
    "extract_tasks",
    "find_table",
    "get_config",
    "shipped",
    "tiled_schedule",
    "tune",
    "tune_tasks",
]
