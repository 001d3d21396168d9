<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum VerdictReason: string
{
    case Entry = 'entry';
    case Default = 'default';
    case ProtectedNetwork = 'protected_network';
    case Ipv6 = 'ipv6';
    case NameService = 'name_service';
    case EgressRule = 'egress_rule';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
