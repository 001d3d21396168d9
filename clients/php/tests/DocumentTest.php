<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use PHPUnit\Framework\TestCase;
use Sandlot\Exception\SandlotException;
use Sandlot\Exception\UnexpectedAnswerException;
use Sandlot\Generator\Document;
use Sandlot\Generator\Generator;
use Sandlot\Model\CreateSandbox;
use Sandlot\Model\CreateTemplate;
use Sandlot\Model\CreateTemplateVersion;
use Sandlot\Model\Explicit;
use Sandlot\Model\Fields;
use Sandlot\Model\ReplaceNetwork;
use Sandlot\Model\ResumeSandbox;
use Sandlot\Model\SandboxState;
use Sandlot\Model\Session;
use Sandlot\Model\UpdateSandbox;
use Sandlot\Network\Policy;
use Sandlot\Sandbox;
use Sandlot\Sandboxes;
use Sandlot\Templates;

/** What is here is what the API's document says. */
final class DocumentTest extends TestCase
{
    public function testTheClassesAreThoseOfTheDocument(): void
    {
        $differences = (new Generator($this->document()))->compare(dirname(__DIR__) . '/src');
        $this->assertSame([], array_keys($differences), 'bin/generate makes them again');
    }

    public function testAMemberThatIsAddedIsNoticed(): void
    {
        $document = $this->document();
        $document['components']['schemas']['Sandbox']['properties']['colour'] = ['type' => 'string'];
        $document['components']['schemas']['SandboxState']['enum'][] = 'melting';
        $differences = (new Generator($document))->compare(dirname(__DIR__) . '/src');
        $names = array_map('basename', array_keys($differences));
        sort($names);
        $this->assertSame(['Sandbox.php', 'SandboxState.php'], $names);
        $this->assertStringContainsString('?string $colour', implode($differences));
    }

    public function testMethodsTakeEveryField(): void
    {
        $methods = [
            [Sandboxes::class, 'create', CreateSandbox::class, ['idempotencyKey']],
            [Sandbox::class, 'update', UpdateSandbox::class, []],
            [Sandbox::class, 'resume', ResumeSandbox::class, []],
            [Policy::class, 'set', ReplaceNetwork::class, []],
            [Templates::class, 'create', CreateTemplate::class, []],
            [Templates::class, 'addVersion', CreateTemplateVersion::class, ['slug']],
        ];
        foreach ($methods as [$class, $method, $request, $also]) {
            $members = [...self::parameters($request, '__construct'), ...$also];
            $this->assertEqualsCanonicalizing($members, self::parameters($class, $method), $method);
        }
    }

    /** One catch of SandlotException gets all but mistakes, which are \LogicExceptions; PSR-7 names those of streams. */
    public function testThereIsOneTreeOfExceptions(): void
    {
        $readme = file_get_contents(dirname(__DIR__) . '/README.md');
        foreach (glob(dirname(__DIR__) . '/src/Exception/*Exception.php') as $file) {
            $name = basename($file, '.php');
            $this->assertTrue(is_a("Sandlot\\Exception\\{$name}", SandlotException::class, true), $name);
            $this->assertStringContainsString("`{$name}`", $readme);
        }
        $folder = new \RecursiveDirectoryIterator(dirname(__DIR__) . '/src', \FilesystemIterator::SKIP_DOTS);
        foreach (new \RecursiveIteratorIterator($folder) as $file) {
            preg_match_all('/throw new (\\\\\w+)/', file_get_contents($file->getPathname()), $found);
            $isStream = preg_match('{/Http/(Message/|TransferStream)}', $file->getPathname()) === 1;
            $allowed = ['\LogicException', '\InvalidArgumentException', $isStream ? '\RuntimeException' : ''];
            $this->assertSame([], array_diff($found[1], $allowed), (string) $file);
        }
    }

    public function testRequestsHaveWhatWasGivenAlone(): void
    {
        $request = new CreateSandbox(timeout: 5, metadata: [], allowInternetAccess: false);
        $this->assertSame('{"timeout":5,"metadata":{},"allow_internet_access":false}', json_encode($request));
        $this->assertSame('{"metadata":null}', json_encode(new UpdateSandbox(metadata: Explicit::Null)));
    }

    public function testAnAnswerMayHaveMoreThanIsKnown(): void
    {
        $fields = new Fields(['state' => 'melting', 'colour' => 'red'], 'ShowSandbox');
        $this->assertSame(SandboxState::Unknown, $fields->enum('state', SandboxState::Unknown));
    }

    public function testAnAnswerThatIsWrongSaysWhere(): void
    {
        $right = ['access_token' => 't', 'data_plane_url' => 'https://x', 'expires_at' => null];
        $this->assertSame('t', Session::read(new Fields($right, 'CreateSession'))->accessToken);
        foreach (['access_token' => null, 'data_plane_url' => 7, 'expires_at' => 'soon-ish'] as $name => $value) {
            try {
                Session::read(new Fields([...$right, $name => $value], 'CreateSession'));
                $this->fail("{$name} was taken");
            } catch (UnexpectedAnswerException $failure) {
                $this->assertStringContainsString("CreateSession.{$name}", $failure->getMessage());
            }
        }
    }

    public function testListsAndMapsHaveTheTypesOfTheirValues(): void
    {
        $values = ['list' => ['a', 'b'], 'map' => ['7' => 'x'], 'mixed' => ['a', 7], 'rows' => [[], 'x']];
        $fields = new Fields($values, 'it');
        $this->assertSame(['a', 'b'], $fields->strings('list'));
        $this->assertSame(['7' => 'x'], $fields->map('map'));
        $this->assertNull($fields->mapOrNull('none'));
        $this->assertNull($fields->stringsOrNull('none'));
        $wrong = [
            'it.mixed' => [
                fn () => $fields->strings('mixed'),
                fn () => $fields->ints('mixed'),
                fn () => $fields->map('mixed'),
            ],
            'it.map' => [fn () => $fields->strings('map')],
            'it.list' => [fn () => $fields->ints('list')],
            'it.rows.1' => [fn () => $fields->objects('rows', static fn (Fields $row): Fields => $row)],
        ];
        foreach ($wrong as $place => $reads) {
            foreach ($reads as $read) {
                try {
                    $read();
                    $this->fail("{$place} was taken");
                } catch (UnexpectedAnswerException $failure) {
                    $this->assertStringContainsString("{$place} is no", $failure->getMessage());
                }
            }
        }
    }

    /** @return array<string, mixed> */
    private function document(): array
    {
        return Document::fromParts();
    }

    /** @return list<string> */
    private static function parameters(string $class, string $method): array
    {
        $parameters = (new \ReflectionMethod($class, $method))->getParameters();
        return array_map(static fn (\ReflectionParameter $parameter): string => $parameter->getName(), $parameters);
    }
}
