"""Least policies: which entries a verb could not do without, by one run of the verb.

An entry (a statement and one of its actions) is needed if some request of the run was allowed by it
and by no other entry. Tests once ran each verb anew without each entry, which says the same in a
hundred times the requests. They still do that for one entry of each statement, so that a denied
request is seen to end the verb.
"""

import copy

import fake_aws.server
import fake_aws.stack_actions
from fake_aws.permissions import allowed


def entries(document):
    return [
        (number, action)
        for number, statement in enumerate(document["Statement"])
        for action in statement["Action"]
    ]


def first_of_each(document):
    return [(number, held["Action"][0]) for number, held in enumerate(document["Statement"])]


def without(document, number, action):
    less = copy.deepcopy(document)
    less["Statement"][number]["Action"].remove(action)
    less["Statement"] = [s for s in less["Statement"] if s["Action"]]
    return less


def watch(monkeypatch, document):
    """The entries that were needed since; other identities have other documents."""
    needed = set()

    def watched(statements, need):
        hits = [
            (number, action)
            for number, statement in enumerate(statements)
            for action in statement["Action"]
            if allowed([{**statement, "Action": [action]}], need)
        ]
        if len(hits) == 1 and statements == document["Statement"]:
            needed.add(hits[0])
        return allowed(statements, need)

    for module in (fake_aws.server, fake_aws.stack_actions):
        monkeypatch.setattr(module, "allowed", watched)
    return needed
