"""Lets a query read tables, and nothing else: no writing, no settings, no programs, no Java methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from telemark.errors import ConfigError

_CATALYST: Final = "org.apache.spark.sql.catalyst"
_STATEMENTS: Final = [f"{_CATALYST}.plans.logical.{name}" for name in ("Command", "ParsedStatement", "InsertIntoDir")]
# What a query may hold and still do more than read, by the names of Spark's classes.
_REFUSED: Final = {"ScriptTransformation": "TRANSFORM", "CallMethodViaReflection": "a call of a Java method"}


def require_query(spark: SparkSession, text: str) -> None:
    """Refuse a statement that is no query: Spark would carry it out at once.

    Raises:
        ConfigError: it is none. ParseException of pyspark: it is no SQL.
    """
    jvm: Any = spark._jvm
    statements = [jvm.java.lang.Class.forName(name) for name in _STATEMENTS]
    for plan in _plans(jvm, spark._jsparkSession.sessionState().sqlParser().parsePlan(text)):
        if any(statement.isInstance(plan) for statement in statements):
            _refuse(_name(plan))


def require_read_only(answer: DataFrame) -> None:
    """Refuse a query that starts programs or calls Java.

    Raises:
        ConfigError: it does.
    """
    jvm: Any = answer.sparkSession._jvm
    plan: Any = answer._jdf.queryExecution().analyzed()
    for node in _nodes(jvm, plan):
        if _name(node) in _REFUSED:
            _refuse(_REFUSED[_name(node)])


def _plans(jvm: Any, plan: Any) -> Iterator[Any]:
    yield plan
    for child in _listed(jvm, plan.children()):
        yield from _plans(jvm, child)


def _nodes(jvm: Any, node: Any) -> Iterator[Any]:
    """All plans and expressions, subqueries included."""
    yield node
    below = [node.children()]
    if jvm.java.lang.Class.forName(f"{_CATALYST}.plans.QueryPlan").isInstance(node):
        below += [node.expressions(), node.subqueries()]
    for nodes in below:
        for child in _listed(jvm, nodes):
            yield from _nodes(jvm, child)


def _listed(jvm: Any, nodes: Any) -> Any:
    return jvm.scala.jdk.javaapi.CollectionConverters.asJava(nodes)


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _refuse(what: str) -> None:
    raise ConfigError(f"a query may only read, found {what}", hint="use SELECT")
