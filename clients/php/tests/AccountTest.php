<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use Sandlot\Client;
use Sandlot\Exception\Api\InsufficientScopeException;
use Sandlot\Exception\Api\InvalidRequestException;
use Sandlot\Exception\Api\NotFoundException;
use Sandlot\Exception\Api\TemplateNotFoundException;
use Sandlot\Exception\Api\UnauthorizedException;
use Sandlot\Exception\ApiException;
use Sandlot\Http\CurlClient;
use Sandlot\Http\RetryPolicy;
use Sandlot\Model\BuildState;
use Sandlot\Model\ErrorCode;
use Sandlot\Model\Operation;
use Sandlot\Model\Scope;

/** Keys, templates, limits, and refusals. */
final class AccountTest extends ServiceTestCase
{
    public function testWhoseTheKeyIs(): void
    {
        $account = self::client()->account;
        $me = $account->me();
        $this->assertContains(Scope::Write, $me->key->scopes);
        $this->assertSame($me->defaultTeam, $account->teams()[0]->slug);
        $limits = $account->limits();
        $this->assertSame($me->defaultTeam, $limits->team);
        $this->assertContains($limits->plan->name, array_column($limits->plans, 'name'));
        $usage = $account->usage(from: new \DateTimeImmutable('-1 hour'));
        $this->assertSame($me->defaultTeam, $usage->team);
        $this->assertGreaterThanOrEqual(0.0, $usage->runtime->seconds);
    }

    public function testTheVariablesMayBeThoseOfAFile(): void
    {
        $key = (string) getenv('SANDLOT_KEY');
        putenv('SANDLOT_KEY');
        $before = $_ENV;
        $_ENV['SANDLOT_KEY'] = $key;
        try {
            $this->assertContains(Scope::Write, Client::fromEnvironment()->account->me()->key->scopes);
        } finally {
            $_ENV = $before;
            putenv("SANDLOT_KEY={$key}");
        }
    }

    public function testAKeyThatReadsOnly(): void
    {
        $keys = self::client()->keys;
        $made = $keys->create([Scope::Read], name: 'reader', expiresAt: new \DateTimeImmutable('+1 hour'));
        $this->assertContains($made->id, array_column($keys->list(), 'id'));
        $reader = self::with($made->key);
        $this->assertIsArray([...$reader->sandboxes->list()]);
        try {
            $reader->sandboxes->create();
            $this->fail('it may write');
        } catch (InsufficientScopeException $refusal) {
            $this->assertSame(403, $refusal->status);
        }
        $keys->revoke($made->id);
        $this->expectException(UnauthorizedException::class);
        $reader->account->me();
    }

    public function testSecretsAreWrittenAndNeverShown(): void
    {
        $secrets = self::client()->secrets;
        $made = $secrets->put('php', 'hidden', ['api.example.com']);
        $this->assertSame([1, ['api.example.com']], [$made->version, $made->hosts]);
        $this->assertSame(2, $secrets->put('php', 'hidden', ['api.example.com', '*.example.com'])->version);
        $this->assertSame(3, $secrets->put('php', hosts: ['*.example.com'])->version);
        $this->assertContains('php', array_column($secrets->list(), 'name'));
        $this->assertStringNotContainsString('hidden', serialize($secrets->list()));
        $secrets->delete('php');
        $this->assertNotContains('php', array_column($secrets->list(), 'name'));
    }

    public function testTemplates(): void
    {
        $templates = self::client()->templates;
        $slug = $templates->list()[0]->slug;
        $version = $templates->versions($slug)[0];
        $this->assertSame($slug, $templates->get($slug)->slug);
        $this->assertSame(BuildState::Ready, $templates->waitUntilBuilt($slug, $version->version)->state);
        $this->expectException(NotFoundException::class);
        $templates->delete('no-such-template');
    }

    public function testRefusalsSayWhatAndWhere(): void
    {
        try {
            self::client()->sandboxes->create(timeout: 0);
            $this->fail('it was taken');
        } catch (InvalidRequestException $refusal) {
            $this->assertSame(['timeout', 422], [trim((string) $refusal->field, '/'), $refusal->status]);
            $this->assertSame(ErrorCode::InvalidRequest, $refusal->errorCode());
            $this->assertNotEmpty($refusal->requestId);
            $this->assertNotEmpty($refusal->getMessage());
        }
        $this->expectException(TemplateNotFoundException::class);
        self::client()->sandboxes->create(template: 'no-such-template');
    }

    public function testACallWithoutAMethodOfItsOwn(): void
    {
        $answer = self::client()->api->call(Operation::ShowMe)->fields('user');
        $this->assertSame(self::client()->account->me()->user->id, $answer?->string('id'));
        $this->expectException(ApiException::class);
        self::client()->api->call(Operation::ShowSandbox, ['id' => 'sbx_' . str_repeat('0', 26)]);
    }

    public function testAKeyGoesOverTlsAlone(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        new Client('http://api.sandbox.example.com', 'slk_x');
    }

    public function testTheKeyIsNotShown(): void
    {
        $client = self::with('slk_very-secret', new RetryPolicy(within: 0));
        $sandbox = self::sandbox();
        ob_start();
        var_dump($client, $sandbox);
        $shown = (string) ob_get_clean() . print_r([$client, $sandbox], true);
        $this->assertStringNotContainsString('very-secret', $shown);
        $this->assertStringNotContainsString($sandbox->session()->accessToken, $shown);
        $this->assertStringNotContainsString((string) getenv('SANDLOT_KEY'), $shown);
    }

    private static function with(string $key, RetryPolicy $retries = new RetryPolicy()): Client
    {
        $http = new CurlClient(caFile: getenv('SANDLOT_CA') ?: null);
        return new Client((string) getenv('SANDLOT_URL'), $key, $http, retries: $retries);
    }
}
