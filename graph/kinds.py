"""The kinds of nodes and of patterns."""

from __future__ import annotations

from enum import Enum


class NodeKind(Enum):
    """What a node stands for; the value is the word for it in texts (``MSCJoint.optype``)."""

    # In the graphs of both IRs. An operator's call has its name as word.
    OPERATOR = ""
    INPUT = "input"
    CONSTANT = "constant"
    TUPLE = "tuple"
    GET_ITEM = "get_item"
    CALL = "call"
    FUNCTION = "function"
    GLOBAL = "global"
    IF = "if"
    # Several nodes in one, which has the name of their pattern as operator.
    FUSED = "fused"
    # Of Relay only.
    CONSTRUCTOR = "constructor"
    MATCH = "match"
    BIND = "bind"
    LET = "let"
    REF = "ref"
    REF_READ = "ref_read"
    REF_WRITE = "ref_write"
    # Of Relax only.
    CALL_TIR = "relax.call_tir"
    CALL_PACKED = "relax.call_packed"
    CALL_DPS_PACKED = "relax.call_dps_packed"
    MATCH_CAST = "relax.match_cast"
    SHAPE = "relax.shape"
    PRIM_VALUE = "relax.prim_value"
    STRING = "relax.str"
    IDENTITY = "relax.identity"


class PatternKind(Enum):
    """What a pattern matches; the value is the word for it in documents."""

    WILDCARD = "wildcard"
    VARIABLE = "variable"
    TUPLE = "tuple"
    CONSTRUCTOR = "constructor"
