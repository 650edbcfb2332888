"""Injection: rules on named points, the same for device and driver."""

from firmware.inject.actions import ACTIONS, Action
from firmware.inject.answers import Hit, RuleStatus, Standing
from firmware.inject.board import Board, Tap
from firmware.inject.catalogue import matching, points
from firmware.inject.coverage import Coverage, PointCoverage
from firmware.inject.errors import RuleError
from firmware.inject.injector import Injector
from firmware.inject.point import Layer, Point, Side
from firmware.inject.rule import FOREVER, Rule, When, Where
from firmware.inject.scenario import Expectation, Scenario, parse_scenario, scenario_json
from firmware.inject.seeds import check_seed, parse_seed
from firmware.inject.site import Site
from firmware.inject.words import line_of, parse_rule, rule_of, words_of

__all__ = [
    "ACTIONS",
    "FOREVER",
    "Action",
    "Board",
    "Coverage",
    "Expectation",
    "Hit",
    "Injector",
    "Layer",
    "Point",
    "PointCoverage",
    "Rule",
    "RuleError",
    "RuleStatus",
    "Scenario",
    "Side",
    "Site",
    "Standing",
    "Tap",
    "When",
    "Where",
    "check_seed",
    "line_of",
    "matching",
    "parse_rule",
    "parse_scenario",
    "parse_seed",
    "points",
    "rule_of",
    "scenario_json",
    "words_of",
]
