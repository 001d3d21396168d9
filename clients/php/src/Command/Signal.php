<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

enum Signal: string
{
    case Terminate = 'SIGNAL_SIGTERM';
    case Kill = 'SIGNAL_SIGKILL';
}
