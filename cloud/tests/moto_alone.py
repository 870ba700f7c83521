"""moto as PyPI has it, in a process of its own: `fake_aws` changes moto's classes in this one.

It adds only what moto has no code for and our verbs can't do without: placement groups, prices, the
quota of vCPUs, that there are no reservations, and the gaps of its stacks (moto_stacks.py). Prints
its address; ends with its input.
"""

import io
import json
import sys
from threading import Thread
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import moto_stacks
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

PRICES = {"c6i.large": "0.085", "c7i.large": "0.08925"}


class Extended:
    """A WSGI application."""

    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.groups = {}  # name -> tags

    def __call__(self, environ, start):
        credential = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].split("/")
        service = credential[3] if len(credential) > 3 else ""
        if service == "pricing":
            return self.answer(start, self.price(self.body(environ)))
        if service == "servicequotas":
            return self.answer(start, json.dumps({"Quota": {"Value": 1000.0}}))
        if service == "ec2":
            body = self.body(environ)
            form = dict(parse_qsl(body.decode(), keep_blank_values=True))
            made = getattr(self, form.get("Action", ""), None)
            if made is not None and form.get("DryRun") != "true":
                name = f"{form['Action']}Response"
                return self.answer(start, f"<{name}>{made(form)}</{name}>")
            if made is not None:
                error = "<Error><Code>DryRunOperation</Code><Message>-</Message></Error>"
                told = f"<Response><Errors>{error}</Errors></Response>"
                return self.answer(start, told, "412 -")
        return self.moto(environ, start)

    @staticmethod
    def body(environ):
        """Read, and left to be read again."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        return body

    @staticmethod
    def answer(start, text, status="200 -"):
        start(status, [("Content-Type", "text/xml" if text[0] == "<" else "application/json")])
        return [text.encode()]

    @staticmethod
    def price(body):
        wanted = {entry["Field"]: entry["Value"] for entry in json.loads(body)["Filters"]}
        if (usd := PRICES.get(wanted.get("instanceType"))) is None:
            return json.dumps({"PriceList": []})
        dimension = {"pricePerUnit": {"USD": usd}}
        terms = {"OnDemand": {"a": {"priceDimensions": {"b": dimension}}}}
        return json.dumps({"PriceList": [json.dumps({"terms": terms})]})

    # --- placement groups -----------------------------------------------------------------------

    def CreatePlacementGroup(self, form):  # noqa: N802
        tags = {
            value: form[key.removesuffix("Key") + "Value"]
            for key, value in form.items()
            if key.startswith("TagSpecification.1.Tag.") and key.endswith(".Key")
        }
        self.groups[form["GroupName"]] = tags
        return f"<placementGroup>{self.shown(form['GroupName'])}</placementGroup>"

    def DescribePlacementGroups(self, form):  # noqa: N802
        name, value = form.get("Filter.1.Name", ""), form.get("Filter.1.Value.1", "")
        found = [
            group for group, tags in self.groups.items()
            if not name
            or (name == "tag-key" and value in tags)
            or tags.get(name.removeprefix("tag:")) == value
        ]  # fmt: skip
        items = "".join(f"<item>{self.shown(group)}</item>" for group in found)
        return f"<placementGroupSet>{items}</placementGroupSet>"

    def DeletePlacementGroup(self, form):  # noqa: N802
        self.groups.pop(form["GroupName"], None)
        return "<return>true</return>"

    def DescribeCapacityReservations(self, form):  # noqa: N802
        return "<capacityReservationSet/>"

    def shown(self, name):
        tags = "".join(
            f"<item><key>{escape(k)}</key><value>{escape(v)}</value></item>"
            for k, v in self.groups[name].items()
        )
        return f"<groupName>{escape(name)}</groupName><tagSet>{tags}</tagSet>"


class Quiet(WSGIRequestHandler):
    def log(self, *_):
        """Nothing."""


if __name__ == "__main__":
    moto_stacks.install()
    http = make_server("127.0.0.1", 0, Extended(), threaded=True, request_handler=Quiet)
    Thread(target=http.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{http.server_port}", flush=True)
    sys.stdin.read()
