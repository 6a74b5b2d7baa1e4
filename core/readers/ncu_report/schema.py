"""The messages of a report, as classes of the protobuf runtime built from a table of field numbers.

Only what is used is named. Everything else is unknown to the classes and
skipped, so that a newer report opens. Nothing is required. Texts are bytes
here: they need not be UTF-8. Sections, rules and the values of instances stay
bytes within their results: one that is broken costs no other, and what is not
looked at costs nothing.

Source: Nsight Compute Customization Guide, "Report File Format"; field numbers
as in the 2020 files and as met in reports of 2020.2 to 2026.2.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

# A line a message: its name, then number:name:type of each field; * marks what may stand many times.
_MESSAGES: Final = """
FileHeader 1:version:uint64
BlockHeader 1:sources:uint64 2:results:uint64 3:session:bytes* 4:texts:StringTable 5:payload_bytes:uint64 \
 6:process:Process 7:ranges:uint64
StringTable 1:texts:bytes*
Process 1:id:uint64 2:host:bytes 3:name:bytes

Session 1:process_id:uint64 2:created_s:uint64 3:host:System 4:target:System 6:devices:Device* \
 7:comments:bytes 8:versions:Version* 9:executable:Executable 11:command_line:bytes
System 1:os_name:bytes 2:os_build:bytes 3:processor:bytes 4:architecture:bytes 5:computer_name:bytes \
 7:addresses:Address*
Address 1:first:bytes 2:second:bytes
Device 1:id:uint64 2:name:bytes 3:attributes:Attribute*
Attribute 1:name:bytes 2:value:Value
Version 1:provider:bytes 2:version:bytes
Executable 1:path:bytes 2:working_folder:bytes 3:arguments:bytes* 4:environment:bytes*

Result 1:thread_id:uint64 2:api_call_id:uint64 5:mangled_name:bytes 6:function_name:bytes 7:name:bytes \
 10:grid:Dimensions 11:block:Dimensions 12:comments:bytes 13:metrics:Metric* 14:created_s:uint64 \
 15:source:SourceReference 17:sections:bytes* 19:rules:bytes* 21:nvtx:bytes \
 22:context:uint64 23:stream:uint64 28:call_stack:bytes
Dimensions 1:x:uint64 2:y:uint64 3:z:uint64
SourceReference 1:id:uint64
Metric 1:name:uint64 2:value:Value 3:instances:bytes* 4:kind:uint64
Value 1:text:bytes 2:single:float 3:double:double 4:small:uint32 5:large:uint64
Instance 1:key:Value 2:value:Value

Nvtx 1:domains:NvtxDomain* 2:threads:NvtxThread* 3:spans:NvtxSpans*
NvtxDomain 1:id:uint64 2:name:bytes
NvtxThread 1:id:uint64 2:stacks:NvtxStack*
NvtxStack 1:domain:uint64 3:ranges:NvtxRange*
NvtxRange 1:name:bytes
NvtxSpans 1:domain:uint64 3:ranges:NvtxSpan*
NvtxSpan 2:name:bytes
CallStack 1:frames:Frame*
Frame 1:module:bytes 2:address:uint64 3:file:bytes 4:symbol:bytes 5:line:uint64

Source 1:reference:uint64 4:binary:bytes 5:sass_level:uint64 6:revision:uint64 8:imported:ImportedSources \
 9:functions:FunctionTable
ImportedSources 1:files:ImportedSource*
ImportedSource 1:path:bytes 2:text:bytes
FunctionTable 1:functions:Function*
Function 1:mangled_name:bytes 2:base_address:uint64 3:symbol_index:uint64

Rule 1:identifier:bytes 2:name:bytes 3:body:RuleBody 4:section:bytes 5:markers:Marker*
RuleBody 1:items:RuleItem*
RuleItem 1:message:RuleMessage 2:table:RuleTable 8:focus:Focus 9:source_table:RuleSourceTable \
 10:speedup:Speedup
RuleMessage 1:text:bytes 2:kind:uint64 3:id:uint64 4:title:bytes
RuleTable 1:label:bytes 5:metrics:Named*
RuleSourceTable 1:label:bytes 3:metrics:Named*
Named 1:name:bytes
Focus 1:message_id:uint64 2:name:bytes 3:value:double 4:severity:uint64 5:info:bytes
Speedup 1:kind:uint64 2:percent:double
Marker 2:line:uint64 3:address:uint64 4:message:bytes 5:severity:uint64 6:file:bytes

Section 1:identifier:bytes 2:title:bytes 3:order:int64 4:header:Header 5:bodies:Body* 6:metrics:Places \
 7:description:bytes 8:sets:SetName* 9:extends:bytes 10:definitions:Definitions 12:groups:Group* \
 13:source_metrics:Places
Header 1:rows:uint64 2:metrics:Place*
Body 1:items:Item* 2:label:bytes 3:is_default:uint64
Places 1:metrics:Place*
SetName 1:id:bytes
Definitions 1:definitions:Definition*
Definition 1:name:bytes 2:expression:bytes 3:filter:Filter
Group 1:name:bytes 2:label:bytes
Place 1:name:bytes 2:label:bytes 4:show_instances:uint64 5:unit:bytes 6:filter:Filter 7:options:Option* \
 9:groups:bytes* 13:multiplier:double
Option 1:name:bytes 2:label:bytes 3:filter:Filter
Filter 1:low:uint64 2:high:uint64 3:ranges:ArchRange*
ArchRange 1:low:uint64 2:high:uint64
Item 1:table:Table 2:bar:BarChart 3:histogram:BarChart 4:line:LineChart 5:row:ItemRow 6:roofline:Roofline \
 7:source_table:SourceTable 8:suffix_table:SuffixTable 101:shared:Labelled 102:l1_old:Labelled \
 103:l2_old:Labelled 104:device_memory:Labelled 105:memory_chart:Labelled 106:l1:Labelled 107:l2:Labelled \
 108:topology:Labelled 109:links:Labelled 110:throughput:Labelled 111:policies:Labelled 112:numa:Labelled \
 113:timeline:Timeline 200:filter:Filter
Labelled 1:label:bytes
Table 1:label:bytes 2:rows:uint64 3:columns:uint64 4:order:uint64 5:metrics:Place* 6:sort_key:uint64
BarChart 1:label:bytes 3:category:Axis 4:value:Axis 5:metrics:Place* 6:sort_key:uint64
LineChart 1:label:bytes 2:category:Axis 3:value:Axis 4:metrics:Place* 5:highlight:Places
Axis 1:label:bytes 2:range:Range 3:ticks:uint64 5:precision:uint64
Range 1:low:int64 2:high:int64
ItemRow 1:items:Item*
SourceTable 1:label:bytes 3:metrics:Place*
SuffixTable 1:label:bytes 2:suffixes:Suffixes 3:bases:Places
Suffixes 1:suffixes:Suffix*
Suffix 1:suffix:bytes 2:label:bytes
Timeline 1:label:bytes 2:rows:TimelineRow*
TimelineRow 1:label:bytes 4:metrics:TimelineMetrics*
TimelineMetrics 4:metrics:Place*
Roofline 1:label:bytes 2:intensity:Labelled 3:work:Labelled 4:roofs:RooflineLine* 5:points:RooflineLine*
RooflineLine 1:work:Rate 2:traffic:Rate 3:options:RooflineOptions
RooflineOptions 1:label:bytes 5:shown_if:NotZero
NotZero 2:metric:Place
Rate 2:metric:Place 3:expression:RateExpression
RateExpression 1:per_cycle:Place* 2:cycles_per_second:Place
"""
_SCALARS: Final = {
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "float": FieldDescriptorProto.TYPE_FLOAT,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
}
_PACKAGE: Final = "ridgeline.ncu"


def _build() -> dict[str, type[Message]]:
    file = FileDescriptorProto(name="ncu_report.proto", package=_PACKAGE, syntax="proto2")
    for line in _MESSAGES.replace("\\\n", "").splitlines():
        name, *fields = line.split() or [""]
        if name:
            message = file.message_type.add(name=name)
            message.field.extend(_field(*field.split(":")) for field in fields)
    # One question instead of five, asked for every metric.
    value = next(message for message in file.message_type if message.name == "Value")
    value.oneof_decl.add(name="kind")
    for each in value.field:
        each.MergeFrom(FieldDescriptorProto(oneof_index=0))
    pool = DescriptorPool()
    pool.Add(file)
    return {
        message.name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}"))
        for message in file.message_type
    }


def _field(number: str, name: str, kind: str) -> FieldDescriptorProto:
    repeated = kind.endswith("*")
    kind = kind.removesuffix("*")
    field = FieldDescriptorProto(
        name=name,
        number=int(number),
        label=FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL,
    )
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    return field


_CLASSES: Final = _build()


def decode(message: str, data: bytes | memoryview) -> Any:
    """Decodes one message of the table above; None if it is broken."""
    try:
        return _CLASSES[message].FromString(bytes(data))
    except DecodeError:
        return None


def empty(message: str) -> Any:
    """Returns a message without fields, to be merged into or to be filled."""
    return _CLASSES[message]()


def sized_fields(message: str) -> tuple[tuple[int, str, str], ...]:
    """Returns the number, the name and the message of each field with a length; "" for a text."""
    fields = _CLASSES[message].DESCRIPTOR.fields
    return tuple(
        (field.number, field.name, "" if field.message_type is None else field.message_type.name)
        for field in fields
        if field.type in (FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.TYPE_MESSAGE)
    )


def text_of(data: bytes) -> str:
    """Returns a text; bytes that are no UTF-8 become U+FFFD."""
    return data.decode("utf-8", "replace")
