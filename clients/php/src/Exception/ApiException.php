<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

use Sandlot\Model\ErrorCode;
use Sandlot\Model\Quota;

/** The service refused. The codes that it documents have a class each below Sandlot\Exception\Api. */
class ApiException extends \RuntimeException implements SandlotException
{
    /**
     * @param int $status of HTTP
     * @param string|null $error the code; null: not the service answered but something before it
     * @param string|null $field the input that is wrong, as a JSON pointer or a name
     * @param string|null $requestId under which the service's log has it
     * @param float|null $retryAfter seconds that the service asks to wait
     * @param Quota|null $quota what the plan allows and what is used
     */
    final public function __construct(
        string $message,
        public readonly int $status,
        public readonly ?string $error = null,
        public readonly ?string $field = null,
        public readonly ?string $requestId = null,
        public readonly ?float $retryAfter = null,
        public readonly ?Quota $quota = null,
    ) {
        parent::__construct($message, $status);
    }

    /** The code as a case; null: it is newer than this package, or there is none. */
    public function errorCode(): ?ErrorCode
    {
        return $this->error === null ? null : ErrorCode::tryFrom($this->error);
    }
}
